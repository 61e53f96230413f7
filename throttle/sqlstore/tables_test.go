package sqlstore

import (
	"errors"
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
		equals(t, checkIdentifier("F", name, maxIdentifier, true) == nil, want, "%q", name)
		equals(t, checkIdentifier("F", name, maxIdentifier, false) == nil, want && !strings.Contains(name, "."), "%q, without a schema", name)
	}
}

// TestSchemas wants statements that can be run again, of tables with the prefix in quotes.
func TestSchemas(t *testing.T) {
	for d, quote := range map[Dialect]string{PostgreSQL: `"`, MySQL: "`", SQLite: `"`} {
		breaker, err := BreakerSchema(d, "ops.x_")
		buckets, other := BucketSchema(d, "ops.x_")
		if err := errors.Join(err, other); err != nil || len(breaker) != 4 || len(buckets) != 1 {
			t.Errorf("%v: got %d and %d statements, %v want 4 and 1", d, len(breaker), len(buckets), err)
		}
		for _, s := range append(breaker, buckets...) {
			if !strings.HasPrefix(s, "CREATE TABLE IF NOT EXISTS "+quote+"ops"+quote+"."+quote+"x_b") || strings.ContainsAny(s, "{}?") {
				t.Errorf("%v: got %s", d, s)
			}
		}
	}
	for d, prefix := range map[Dialect]string{PostgreSQL: "a.b.c", 9: ""} {
		_, err := BreakerSchema(d, prefix)
		if _, other := BucketSchema(d, prefix); err == nil || other == nil {
			t.Errorf("%v, prefix %q: got errors %v and %v want both", d, prefix, err, other)
		}
	}
}
