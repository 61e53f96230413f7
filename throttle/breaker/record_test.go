package breaker

import (
	"reflect"
	"testing"

	"github.com/spillway-go/spillway/throttle/breaker/store"
)

// FuzzDecode reads a record, writes it and reads it again. It is the same, whatever bytes are in its key.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"v":1,"id":"a","state":"open","trips":1,"generation":1,"changed_at":1,"failures":0,"successes":0}`))
	f.Add([]byte(`{"v":1,"id":"a","state":"disabled","reason":"too_many_trips","forced":true,"trips":3,"generation":18446744073709551615,` +
		`"changed_at":1,"open_until":2,"count_since":3,"called_at":4,"failures":0.1,"successes":1e300,"dry_run":true,"pending":[{"from":"half_open",` +
		`"to":"open","reason":"failing","trips":2,"generation":9,"failures":1,"successes":2,"dry_run":true,"at":5}]}`))
	f.Add([]byte(`{"v":1,"id_bytes":"/w==","state":"half_open","pending":[{"from":"open","to":"closed","reason":"by_hand"}]}`))
	f.Add([]byte(`{"v":1,"tenant_bytes":"/w==","id":"\u2028<&>","state":"closed"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, k := range []Key{{ID: "a"}, {ID: "\xff"}, {Tenant: "\xff", ID: "\u2028<&>"}} {
			r, err := decode(store.StoredRecord{ID: k.RecordID(), Data: data}, "b")
			if err != nil {
				continue
			}
			again, err := r.encode()
			if err != nil {
				t.Fatalf("%q cannot be written again: %v", data, err)
			}
			r2, err := decode(store.StoredRecord{ID: k.RecordID(), Data: again}, "b")
			if err != nil || !reflect.DeepEqual(r, r2) {
				t.Errorf("%q became %q: %v", data, again, err)
			}
		}
	})
}
