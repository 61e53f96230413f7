package sqlstore

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/spillway-go/spillway/throttle"
	breakerstore "github.com/spillway-go/spillway/throttle/breaker/store"
)

func TestBreakerInvalidRequests(t *testing.T) {
	b := throttle.Must(NewBreaker(brokenDB(t, errBroken), SQLite, BreakerConfig{Name: "b"}))
	ctx := context.Background()
	_, campaign := b.Campaign(ctx, breakerstore.Candidate{Owner: strings.Repeat("o", 1025)})
	_, load := b.Load(ctx, []int{0, 64})
	_, below := b.Apply(ctx, breakerstore.Batch{Shard: -1})
	_, above := b.Apply(ctx, breakerstore.Batch{Shard: 64})
	_, term := b.Apply(ctx, breakerstore.Batch{Term: 1 << 63})
	for want, err := range map[string]error{
		"1025 bytes": campaign, "shard is 64": load, "shard is -1": below, "apply: shard is 64": above, "term is 9223372036854775808": term,
	} {
		if err == nil || errors.Is(err, errBroken) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v want %q", err, want)
		}
	}
	if shards, err := b.Load(ctx, nil); len(shards) != 0 || err != nil {
		t.Errorf("load of nothing: got %v %v", shards, err)
	}
	if grants, err := b.Probe(ctx, nil); len(grants) != 0 || err != nil {
		t.Errorf("probe of nothing: got %v %v", grants, err)
	}
}

func TestWatch(t *testing.T) {
	b := throttle.Must(NewBreaker(brokenDB(t, errBroken), SQLite, BreakerConfig{Name: "b"}))
	listen := func(_ context.Context, changed func()) error { changed(); return errBroken }
	if _, err := Watch(nil, listen); err == nil {
		t.Error("no store: got no error")
	}
	if _, err := Watch(b, nil); err == nil {
		t.Error("no func: got no error")
	}
	w, err := Watch(b, listen)
	if err != nil {
		t.Fatal(err)
	}
	changes := 0
	if err := w.Watch(context.Background(), func() { changes++ }); !errors.Is(err, errBroken) || changes != 1 {
		t.Errorf("got %v, %d changes want the error of the func, 1", err, changes)
	}
}
