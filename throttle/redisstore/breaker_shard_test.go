package redisstore

import (
	"fmt"
	"testing"

	breakerstore "github.com/spillway-go/spillway/throttle/breaker/store"
)

// FuzzParseVersion wants what is read to be what was written.
func FuzzParseVersion(f *testing.F) {
	for _, text := range []string{"1795261589000000 12 5", "0 0 0", "01 2 3", "1 2", "1 2 3 4", "9007199254740991 1 1", "9007199254740992 1 1", "1 1000000000000000 1"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, ok := parseVersion(text)
		if !ok {
			if v != (breakerstore.Version{}) {
				t.Errorf("%q: got %v of what cannot be read", text, v)
			}
			return
		}
		var term uint64
		if n, err := fmt.Sscan(text, &v.Epoch, &v.Number, &term); n != 3 || err != nil || fmt.Sprint(v.Epoch, " ", v.Number, " ", term) != text {
			t.Errorf("%q: got %v want what is written", text, v)
		}
	})
}
