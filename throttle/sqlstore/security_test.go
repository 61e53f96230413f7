package sqlstore

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker"
)

// FuzzIdentifier tries names of tables and columns: one that passes is in quotes in the query, and the rest of the query is the same
// as for any other name.
func FuzzIdentifier(f *testing.F) {
	for _, name := range []string{
		"deliveries", "s.deliveries", "a\"; DROP TABLE t; --", "a`b", "a\"b", "a'b", "a--", "a/**/b", "a\x00", "a\\", "ａ", "?", "{now}", "$1", "a.b.c", "",
	} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		for _, d := range []Dialect{PostgreSQL, MySQL, SQLite} {
			if checkPrefix("prefix", name) == nil && name != "" {
				wantQuoted(t, tableNames(d, name)[1], d.quote(name+"breaker_lease"), "breaker_lease")
			}
			c := goodConfig()
			c.Table, c.TenantColumn, c.KeyColumn, c.TimeColumn, c.StatusColumn = name, name, name, name, name
			p, err := NewPoller(brokenDB(t, errBroken), d, c)
			if err != nil {
				continue
			}
			query, _, err := p.Query(breaker.PollQuery{Window: time.Minute})
			if err != nil {
				t.Fatal(err)
			}
			plain := goodConfig()
			plain.TenantColumn = "endpoint"
			plain.TimeColumn, plain.StatusColumn, plain.Table = "endpoint", "endpoint", "endpoint"
			want, _ := queryOf(t, d, plain, breaker.PollQuery{Window: time.Minute})
			equals(t, strings.ReplaceAll(query, d.quote(name), d.quote("endpoint")), want, "%v: the query for %q", d, name)
		}
	})
}

// wantQuoted fails the test unless a name is in quotes, and nothing in it ends them.
func wantQuoted(t *testing.T, got, want, suffix string) {
	t.Helper()
	inside := strings.TrimSuffix(strings.Trim(strings.NewReplacer("\".\"", "", "`.`", "").Replace(got), "\"`"), suffix)
	if got != want || strings.ContainsAny(inside, "\"`'\\;- \x00?{}$") {
		t.Errorf("got %s want one name in quotes", got)
	}
}

// TestKeysAreParameters polls for keys and values that would like to be a part of the query. It is the query of any others.
func TestKeysAreParameters(t *testing.T) {
	for _, d := range []Dialect{PostgreSQL, MySQL, SQLite} {
		var queries []string
		for _, evil := range []string{"a", `'; DROP TABLE x; --`, `\'; DROP TABLE x; --`, "\"", "`", "]}'", "\x00", "\xff", "$1", "?"} {
			c := goodConfig()
			c.TenantColumn, c.Failed, c.Succeeded = "tenant", []any{evil, []byte(evil)}, []any{evil}
			query, args := queryOf(t, d, c, breaker.PollQuery{
				Window: time.Minute, Since: map[breaker.Key]time.Duration{{Tenant: evil, ID: evil}: time.Second},
			})
			equals(t, len(args), 5, "%v: parameters", d)
			queries = append(queries, query)
		}
		for _, query := range queries[1:] {
			equals(t, query, queries[0], "%v: the query", d)
		}
	}
}

// TestNoStatementDependsOnTheSession reads our statements: what ANSI_QUOTES, NO_BACKSLASH_ESCAPES and standard_conforming_strings change is
// not in them.
func TestNoStatementDependsOnTheSession(t *testing.T) {
	for _, d := range []Dialect{PostgreSQL, MySQL, SQLite} {
		text := textsOf(newBreakerSQL(d, "", d == PostgreSQL)) + textsOf(newBucketSQL(d, ""))
		for at := TimeInstant; at <= TimeUnixMicros; at++ {
			c := goodConfig()
			c.TenantColumn, c.ReporterColumn, c.TimeType = "tenant", "agent", at
			if d != SQLite || at != TimeInstant {
				query, _ := queryOf(t, d, c, breaker.PollQuery{Window: time.Minute, Since: map[breaker.Key]time.Duration{{ID: "k"}: 1}})
				text += query
			}
		}
		if len(text) < 3000 || strings.Contains(text, `\`) || d == MySQL && strings.Contains(text, `"`) {
			t.Errorf("%v: got a backslash, or a double quote, in\n%s", d, text)
		}
	}
}

// textsOf returns all statements of a store.
func textsOf(statements any) (text string) {
	for _, field := range reflect.ValueOf(statements).Fields() {
		text += " " + field.String()
		if !field.IsZero() && field.Kind() == reflect.Pointer {
			many := field.Elem()
			text += fmt.Sprint(many.FieldByName("head"), many.FieldByName("item"), many.FieldByName("tail"))
		}
	}
	return text
}
