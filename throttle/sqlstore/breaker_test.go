package sqlstore

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

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
	w := throttle.Must(Watch(b, listen))
	changes := 0
	if err := w.Watch(context.Background(), func() { changes++ }); !errors.Is(err, errBroken) || changes != 1 {
		t.Errorf("got %v, %d changes want the error of the func, 1", err, changes)
	}
}

func TestNewPendingProbe(t *testing.T) {
	const us = time.Microsecond
	for name, c := range map[string]struct {
		now, since int64
		every      time.Duration
		want       int

		begins, ends int64
		wants        int
		remaining    time.Duration
	}{
		"at its beginning":       {1000, 1000, 100 * us, 3, 1000, 1100, 3, 100 * us},
		"in its first time":      {1030, 1000, 100 * us, 3, 1000, 1100, 3, 70 * us},
		"at its first end":       {1100, 1000, 100 * us, 3, 1100, 1200, 3, 100 * us},
		"much later":             {9999, 1000, 100 * us, 3, 9900, 10000, 3, us},
		"before":                 {990, 1000, 100 * us, 3, 0, 0, 0, 10 * us},
		"more than its budget":   {1000, 1000, 100 * us, 9, 1000, 1100, 5, 100 * us},
		"nothing":                {1000, 1000, 100 * us, 0, 1000, 1100, 0, 100 * us},
		"before there was a one": {1000, -1000, 700 * us, 1, 400, 1100, 1, 100 * us},
	} {
		r := breakerstore.ProbeRequest{Since: time.UnixMicro(c.since), Every: c.every, Budget: 5, Want: c.want}
		ask, remaining, err := newPendingProbe(7, r, c.now)
		if err != nil || ask.begins != c.begins || ask.ends != c.ends || ask.want != c.wants || remaining != c.remaining {
			t.Errorf("%s: got %+v, %v, %v want %d to %d, %d and %v", name, ask, remaining, err, c.begins, c.ends, c.wants, c.remaining)
		}
	}
	for _, every := range []time.Duration{0, -1, 999} {
		if _, _, err := newPendingProbe(0, breakerstore.ProbeRequest{Every: every}, 0); err == nil {
			t.Errorf("every %v: got no error", every)
		}
	}
}

// TestTakeProbes_NoConnection wants SQLite to wait for a connection no longer than its caller does.
func TestTakeProbes_NoConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, _ := distantDB(t, 0)
		defer db.Close()
		db.SetMaxOpenConns(1)
		defer throttle.Must(db.Conn(t.Context())).Close()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		b := throttle.Must(NewBreaker(db, SQLite, BreakerConfig{Name: "b"}))
		if _, err := b.takeProbes(ctx, make([]pendingProbe, 1)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got error %v want DeadlineExceeded", err)
		}
	})
}

func TestDistinct(t *testing.T) {
	ask := func(id byte, generation uint64) pendingProbe {
		return pendingProbe{probeKey: probeKey{breakerstore.RecordID{id}, generation}}
	}
	chunk, rest := distinct([]pendingProbe{ask(1, 1), ask(1, 1), ask(1, 2), ask(2, 1), ask(2, 1), ask(2, 1)})
	if len(chunk) != 3 || len(rest) != 3 {
		t.Errorf("got %d and %d want 3 and 3", len(chunk), len(rest))
	}
	seen := map[probeKey]bool{}
	for _, a := range chunk {
		if seen[a.probeKey] {
			t.Errorf("got %v twice", a.probeKey)
		}
		seen[a.probeKey] = true
	}
	many := make([]pendingProbe, rowsPerStatement+1)
	for i := range many {
		many[i] = ask(byte(i), uint64(i))
	}
	if chunk, rest := distinct(many); len(chunk) != rowsPerStatement || len(rest) != 1 {
		t.Errorf("got %d and %d want %d and 1", len(chunk), len(rest), rowsPerStatement)
	}
}

func TestRowArgs(t *testing.T) {
	var r rowArgs
	for range 2*rowsPerStatement + 1 {
		r.add(1, "x", "y")
	}
	if n := len(r.chunks); n != 3 || r.chunks[0].n != rowsPerStatement || r.chunks[2].n != 1 || len(r.chunks[2].args) != 2 {
		t.Errorf("many: got %d chunks: want 3", n)
	}
	r = rowArgs{}
	for _, size := range []int{bytesPerStatement / 2, bytesPerStatement / 2, 1, 3 * bytesPerStatement, 1} {
		r.add(size, size)
	}
	var sizes []int
	for _, c := range r.chunks {
		sizes = append(sizes, c.n)
	}
	if len(sizes) != 4 || sizes[0] != 2 || sizes[1] != 1 || sizes[2] != 1 || sizes[3] != 1 {
		t.Errorf("large: got %v rows in chunks: want 2, 1, 1, 1", sizes)
	}
}
