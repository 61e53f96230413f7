package breaker_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/spillway-go/spillway/throttle/breaker"
)

// TestRecordsAreReadable holds the words of a stored record, which another version of the program must understand.
func TestRecordsAreReadable(t *testing.T) {
	store, k := breaker.NewMemoryStore(), breaker.Key{Tenant: "t", ID: "a"}
	must(t, agent(t, breaker.Config{Store: store}).Disable(t.Context(), k))
	var got map[string]any
	must(t, json.Unmarshal(stored(t, store, k)[0].Data, &got))
	for field, want := range map[string]any{"v": 1.0, "tenant": "t", "id": "a", "state": "disabled", "reason": "by_hand", "generation": 1.0} {
		if got[field] != want {
			t.Errorf("%s: got %v, want %v", field, got[field], want)
		}
	}
}

// TestCorruptRecordsAreRemoved puts records into the store that cannot be read. The agent reports
// them, treats them as absent, and removes those that no later version can read.
func TestCorruptRecordsAreRemoved(t *testing.T) {
	whole := `{"v":1,"id":"a","state":"disabled","trips":3,"generation":9,"reason":"by_hand","changed_at":1,"failures":0,"successes":0}`
	for name, tt := range map[string]struct {
		data          string
		state         breaker.State
		corrupt, left int
	}{
		"whole":         {whole, breaker.Disabled, 0, 1},
		"cut":           {whole[:40], breaker.Closed, 1, 0},
		"newer format":  {strings.Replace(whole, `"v":1`, `"v":2`, 1), breaker.Closed, 1, 1},
		"another key's": {strings.Replace(whole, `"id":"a"`, `"id":"b"`, 1), breaker.Closed, 1, 0},
		"empty":         {"", breaker.Closed, 1, 0},
		"null":          {"null", breaker.Closed, 1, 0},
		"a list":        {"[]", breaker.Closed, 1, 0},
		"format 0":      {`{"v":0,"id":"a","state":"open"}`, breaker.Closed, 1, 0},
		"no state":      {`{"v":1,"id":"a"}`, breaker.Closed, 1, 0},
		"other state":   {`{"v":1,"id":"a","state":"ajar"}`, breaker.Closed, 1, 0},
		"other reason":  {`{"v":1,"id":"a","state":"open","reason":"whim"}`, breaker.Closed, 1, 0},
		"other event":   {`{"v":1,"id":"a","state":"open","pending":[{"from":"open","to":"ajar","reason":"failing"}]}`, breaker.Closed, 1, 0},
		"trips below 0": {`{"v":1,"id":"a","state":"open","trips":-1}`, breaker.Closed, 1, 0},
		"endless trips": {`{"v":1,"id":"a","state":"open","trips":1e99}`, breaker.Closed, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			store, k := breaker.NewMemoryStore(), breaker.Key{ID: "a"}
			put(t, store, k, tt.data)
			m := agent(t, breaker.Config{Store: store})
			must(t, m.Refresh(t.Context()))
			if n, s := m.Stats().Errors.Of(breaker.RecordCorrupt), m.Status(k).State; n != uint64(tt.corrupt) || s != tt.state {
				t.Errorf("got %d corrupt records reported and state %v, want %d and %v", n, s, tt.corrupt, tt.state)
			}
			if n := len(stored(t, store, k)); n != tt.left {
				t.Errorf("got %d records left, want %d", n, tt.left)
			}
			if tt.state != breaker.Closed {
				return
			}
			fails(t, m, k, 10)
			sample(t, m)
			wants(t, m.CanExecute(t.Context(), k), breaker.ErrOpen, "the circuit lives on")
		})
	}
}
