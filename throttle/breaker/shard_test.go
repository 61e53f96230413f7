package breaker_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/spillway-go/spillway/throttle/breaker"
)

// TestRecordsAreReadable holds the words of a stored record, which another version of the program must understand.
func TestRecordsAreReadable(t *testing.T) {
	store, k := breaker.NewMemoryStore(), breaker.Key{Tenant: "t", ID: "a"}
	if err := agent(t, breaker.Config{Store: store}).Disable(t.Context(), k); err != nil {
		t.Fatal(err)
	}
	loaded, err := store.Load(t.Context(), []int{k.RecordID().Shard()})
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(loaded[0].Records[0].Data, &got); err != nil {
		t.Fatal(err)
	}
	for field, want := range map[string]any{"v": 1.0, "tenant": "t", "id": "a", "state": "disabled", "reason": "by_hand", "generation": 1.0} {
		if got[field] != want {
			t.Errorf("%s: got %v, want %v", field, got[field], want)
		}
	}
}

// TestFault14CorruptRecordsStay puts records into the store that make no sense: they count as absent, are told of, and go.
func TestFault14CorruptRecordsStay(t *testing.T) {
	whole := `{"v":1,"id":"a","state":"disabled","trips":3,"generation":9,"reason":"by_hand","changed_at":1,"failures":0,"successes":0}`
	for _, tt := range []struct{ name, data string }{
		{"no JSON", "\x00\x01"},
		{"empty", ""},
		{"cut", whole[:40]},
		{"older format", strings.Replace(whole, `"v":1`, `"v":0`, 1)},
		{"newer format", strings.Replace(whole, `"v":1`, `"v":2`, 1)},
		{"no format", strings.Replace(whole, `"v":1,`, ``, 1)},
		{"unknown state", strings.Replace(whole, "disabled", "ajar", 1)},
		{"another key's", strings.Replace(whole, `"id":"a"`, `"id":"b"`, 1)},
		{"negative trips", strings.Replace(whole, `"trips":3`, `"trips":-3`, 1)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			store, k := breaker.NewMemoryStore(), breaker.Key{ID: "a"}
			shard := put(t, store, k, tt.data)
			m := agent(t, breaker.Config{Store: store})
			if err := m.Refresh(t.Context()); err != nil {
				t.Fatal(err)
			}
			if n := m.Stats().Failures[breaker.RecordCorrupt]; n != 1 {
				t.Errorf("got %d corrupt records told of, want 1", n)
			}
			if err := m.CanExecute(t.Context(), k); err != nil {
				t.Errorf("got %v, want nil: it counts as absent", err)
			}
			loaded, err := store.Load(t.Context(), []int{shard})
			left := 0
			if tt.name == "newer format" {
				left = 1 // there are agents who can read it
			}
			if err != nil || len(loaded[0].Records) != left {
				t.Errorf("got %d records left, error %v, want %d", len(loaded[0].Records), err, left)
			}
			for range 10 {
				_ = m.Circuit(k).Run(t.Context(), failing)
			}
			sample(t, m)
			if err := m.CanExecute(t.Context(), k); !errors.Is(err, breaker.ErrOpen) {
				t.Errorf("got %v, want ErrOpen: the circuit must live on", err)
			}
		})
	}
	t.Run("whole", func(t *testing.T) {
		store := breaker.NewMemoryStore()
		put(t, store, breaker.Key{ID: "a"}, whole)
		m := agent(t, breaker.Config{Store: store})
		if err := m.Refresh(t.Context()); err != nil || m.Status(breaker.Key{ID: "a"}).State != breaker.Disabled {
			t.Errorf("got %v and state %v, want nil and disabled", err, m.Status(breaker.Key{ID: "a"}).State)
		}
	})
}
