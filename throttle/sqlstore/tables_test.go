package sqlstore

import (
	"strings"
	"testing"
)

func TestIdentifier(t *testing.T) {
	for name, want := range map[string]bool{
		"a": true, "_": true, "a1": true, "A_z": true, "Z": true, "s.t": true, strings.Repeat("a", 63): true,
		strings.Repeat("s", 63) + "." + strings.Repeat("a", 63): true,
		"": false, "1a": false, ".a": false, "a.": false, "a..b": false, "a.b.c": false, "a b": false, "a-b": false, "a\"": false, "a`": false,
		"a\x00": false, "é": false, "a;": false, "a@": false, "a[": false, "a{": false, ".": false, "s.1": false,
		strings.Repeat("a", 64): false, strings.Repeat("s", 64) + "." + strings.Repeat("a", 63): false, strings.Repeat("s", 64) + ".a": false,
	} {
		if got := checkIdentifier("F", name, maxIdentifier, true) == nil; got != want {
			t.Errorf("%q: got %v want %v", name, got, want)
		}
		if got := checkIdentifier("F", name, maxIdentifier, false) == nil; got != (want && !strings.Contains(name, ".")) {
			t.Errorf("%q, without a schema: got %v", name, got)
		}
	}
}
