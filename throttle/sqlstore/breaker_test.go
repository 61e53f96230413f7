package sqlstore

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/spillway-go/spillway/throttle/breaker/store"
)

func TestBadRequestsDoNotReachTheDatabase(t *testing.T) {
	b, err := NewBreaker(brokenDB(t, errBroken), SQLite, BreakerConfig{Name: "b"})
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	_, campaign := b.Campaign(ctx, store.Candidate{Owner: strings.Repeat("o", 1025)})
	_, load := b.Load(ctx, []int{0, 64})
	_, below := b.Apply(ctx, store.Batch{Shard: -1})
	_, above := b.Apply(ctx, store.Batch{Shard: 64})
	_, term := b.Apply(ctx, store.Batch{Term: 1 << 63})
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
