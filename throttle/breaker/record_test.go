package breaker

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/spillway-go/spillway/throttle/breaker/store"
)

func TestRecordsComeBackAsTheyWere(t *testing.T) {
	keys := []Key{{}, {ID: "https://x:8443/h"}, {Tenant: "\xff", ID: "\x00"}, {Tenant: "a", ID: "\xff\xfe"}, {ID: "\u2028<&>"}}
	for _, k := range keys {
		for s := range State(numStates) {
			r := record{
				Status:    Status{Key: k, State: s, Forced: true, Trips: 3, Generation: math.MaxUint64, Reason: ReasonTooManyTrips, ChangedAt: noon, Failures: 0.1, Successes: 1e300},
				openUntil: after(1000), countSince: after(2000), calledAt: after(3000),
				pending: []Event{{Breaker: "b", Key: k, From: s, To: Open, Reason: ReasonByHand, Trips: 2, Generation: 9, At: noon, Failures: 1, Successes: 2, Shadow: true}},
			}
			data, err := r.encode()
			if err != nil {
				t.Fatal(err)
			}
			got, err := decode(store.StoredRecord{ID: k.RecordID(), Data: data}, "b")
			if err != nil {
				t.Fatalf("%s: %v", data, err)
			}
			if a, b := fmt.Sprintf("%+v", *got), fmt.Sprintf("%+v", r); a != b {
				t.Errorf("got  %s\nwant %s", a, b)
			}
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"v":1,"id":"a","state":"open","trips":1,"generation":1,"changed_at":1,"failures":0,"successes":0}`))
	f.Add([]byte(`{"v":1,"id_bytes":"/w==","state":"half_open","pending":[{"from":"open","to":"closed","reason":"by_hand"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, k := range []Key{{ID: "a"}, {ID: "\xff"}} {
			r, err := decode(store.StoredRecord{ID: k.RecordID(), Data: data}, "b")
			if err != nil {
				continue
			}
			again, err := r.encode()
			if err != nil {
				t.Fatalf("%q cannot be written again: %v", data, err)
			}
			r2, err := decode(store.StoredRecord{ID: k.RecordID(), Data: again}, "b")
			if err != nil || r2.State != r.State || !slices.Equal(r2.pending, r.pending) {
				t.Errorf("%q became %q: %v", data, again, err)
			}
		}
	})
}
