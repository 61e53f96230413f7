package dispatch

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker"
)

// handles returns two agents' handles on one new storage.
func handles(t *testing.T) (*Storage, [2]*Handle) {
	t.Helper()
	s, err := NewStorage(t.Context(), StorageConfig{Folder: t.TempDir(), Run: "test"})
	if err != nil {
		t.Fatalf("NewStorage: got error %v want nil", err)
	}
	var both [2]*Handle
	for i := range both {
		if both[i], err = s.Open(); err != nil {
			t.Fatalf("Open: got error %v want nil", err)
		}
		t.Cleanup(func() {
			if err := both[i].Close(); err != nil {
				t.Errorf("Close: got error %v want nil", err)
			}
		})
	}
	return s, both
}

// TestDeliveriesAreCounted: what one agent writes another one counts, within the window only.
func TestDeliveriesAreCounted(t *testing.T) {
	s, h := handles(t)
	good, bad := breaker.Key{Tenant: "a:b", ID: "https://x:1/?"}, breaker.Key{Tenant: "a", ID: "b:https://x:1/?"}
	now := time.Now()
	var attempts []Attempt
	for range rowsPerStatement + 1 {
		attempts = append(attempts, Attempt{Key: good, Agent: "one", Ended: now}, Attempt{Key: bad, Agent: "one", Failed: true, Ended: now})
	}
	attempts = append(attempts, Attempt{Key: good, Agent: "two", Failed: true, Ended: now}, Attempt{Key: bad, Agent: "two", Failed: true, Ended: now},
		Attempt{Key: bad, Agent: "three", Failed: true, Ended: now.Add(-2 * time.Hour)})
	if left, err := h[0].Deliveries.Write(t.Context(), attempts); len(left) > 0 || err != nil {
		t.Fatalf("Write: got %d left, error %v want none", len(left), err)
	}
	poll := func(window time.Duration) map[breaker.Key]breaker.PollResult {
		t.Helper()
		counts, err := h[1].Deliveries.Poll(t.Context(), breaker.PollQuery{Window: window})
		if err != nil {
			t.Fatalf("Poll: got error %v want nil", err)
		}
		return counts
	}
	const n = rowsPerStatement + 1
	got := poll(time.Hour)
	if want := (breaker.PollResult{Failures: 1, Successes: n, Reporters: 1}); got[good] != want {
		t.Errorf("good: got %+v want %+v", got[good], want)
	}
	if want := (breaker.PollResult{Failures: n + 1, Reporters: 2}); got[bad] != want {
		t.Errorf("bad: got %+v want %+v", got[bad], want)
	}
	if got := poll(3 * time.Hour)[bad].Failures; got != n+2 {
		t.Errorf("longer window: got %v failures want %d", got, n+2)
	}
	if err := h[0].Deliveries.Forget(t.Context(), time.Hour); err != nil {
		t.Fatalf("Forget: got error %v want nil", err)
	}
	if got := poll(3 * time.Hour)[bad].Failures; got != n+1 {
		t.Errorf("after Forget: got %v failures want %d", got, n+1)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if left, err := h[0].Deliveries.Write(over, attempts); len(left) != len(attempts) || err == nil {
		t.Errorf("Write with nobody waiting: got %d left, error %v want %d and one", len(left), err, len(attempts))
	}
	if err := s.Remove(t.Context()); err != nil {
		t.Errorf("Remove: got error %v want nil", err)
	}
}

// TestKilledAgentsDoNotResign: the others have to wait for the end of the lease.
func TestKilledAgentsDoNotResign(t *testing.T) {
	_, h := handles(t)
	m := &mortal{Store: h[0].Store}
	campaign := func(s breaker.Store, owner string) breaker.Lease {
		t.Helper()
		l, err := s.Campaign(t.Context(), breaker.Candidate{Owner: owner, TTL: time.Hour})
		if err != nil {
			t.Fatalf("Campaign: got error %v want nil", err)
		}
		return l
	}
	lease := campaign(m, "one")
	m.dead.Store(true)
	if err := m.Resign(t.Context(), lease); err != nil {
		t.Errorf("Resign when dead: got error %v want nil", err)
	}
	if got := campaign(h[1].Store, "two").Owner; got != "one" {
		t.Errorf("after the death: got %s leading want one", got)
	}
	m.dead.Store(false)
	if err := m.Resign(t.Context(), lease); err != nil {
		t.Errorf("Resign: got error %v want nil", err)
	}
	if got := campaign(h[1].Store, "two").Owner; got != "two" {
		t.Errorf("after resigning: got %s leading want two", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := m.Watch(ctx, func() {}); !errors.Is(err, context.Canceled) {
		t.Errorf("Watch of a store that cannot: got error %v want context.Canceled, and not before", err)
	}
}

func TestServersThatAreNotThere(t *testing.T) {
	for _, tt := range []struct {
		config StorageConfig
		want   string
	}{
		{StorageConfig{Redis: "127.0.0.1:1"}, "redis"},
		{StorageConfig{Postgres: "postgres://nobody@127.0.0.1:1/none?connect_timeout=5"}, "127.0.0.1"},
		{StorageConfig{Folder: "/dev/null/none"}, "unable to open database"},
	} {
		if tt.config.Folder == "" {
			tt.config.Folder = t.TempDir()
		}
		tt.config.Run = "test"
		if _, err := NewStorage(t.Context(), tt.config); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("NewStorage of %+v: got error %v want one with %q", tt.config, err, tt.want)
		}
	}
}
