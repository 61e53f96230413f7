package redisstore

import (
	"fmt"
	"testing"

	breakerstore "github.com/spillway-go/spillway/throttle/breaker/store"
)

// FuzzParseVersion wants what is read to be what was written.
func FuzzParseVersion(f *testing.F) {
	f.Add("1795261589000000 12 5")
	f.Add("0 0 0")
	f.Add("01 2 3")
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
