package redisstore

import (
	"fmt"
	"testing"

	breakerstore "github.com/spillway-go/spillway/throttle/breaker/store"
)

func TestParseVersion(t *testing.T) {
	for text, want := range map[string]breakerstore.Version{
		"0 0 0":                      {},
		"0 0 18446744073709551615":   {},
		"1795261589000000 12 5":      {Epoch: 1795261589000000, Number: 12},
		"9007199254740991 1 1":       {Epoch: maxEpoch, Number: 1},
		"1 999999999999999 1":        {Epoch: 1, Number: maxNumber},
		"1 0 9007199254740993000000": {},
		"":                           {}, " ": {}, "1": {}, "1 2": {}, "1 2 x": {}, "1 2 3 4": {}, "1 2 3 ": {},
		" 1 2 3": {}, "1  2 3": {}, "+1 2 3": {},
		"01 2 3": {}, "1 02 3": {}, "1 2 03": {}, "-1 2 3": {}, "1_0 2 3": {},
		"9007199254740992 1 1": {}, "1 1000000000000000 1": {}, "1 1 18446744073709551616": {},
	} {
		got, ok := parseVersion(text)
		if got != want || ok != (want != breakerstore.Version{} || text[:min(4, len(text))] == "0 0 ") {
			t.Errorf("%q: got %v, %v want %v", text, got, ok, want)
		}
	}
}

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
