package main

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"testing"
)

// TestStoresAreMeasured measures one round of what needs no server, or only one that starts at once.
func TestStoresAreMeasured(t *testing.T) {
	for _, c := range measureStores(t.Context(), t, regexp.MustCompile("Instant|Redis|SQLite"), 0, quiet) {
		if c.unavailable != "" {
			t.Logf("%s: %s", c.name, c.unavailable)
			continue
		}
		if c.share() != 1 || c.failure != "" {
			t.Errorf("%s: got %d of %d granted, and error %q, want all", c.name, c.granted, c.asked, c.failure)
		}
		if len(c.rates) != 1 || len(c.cost) != 1 || len(c.alone) == 0 {
			t.Errorf("%s: got %d slices with many callers, %d times of one, want 1 and some", c.name, len(c.rates), len(c.alone))
		}
		switch {
		case c.calls == nil:
		case strings.HasSuffix(c.name, oneByOne) && c.callRates[0] != c.rates[0]:
			t.Errorf("%s: got %v calls of the store per second, want as many as takes: %v", c.name, c.callRates[0], c.rates[0])
		case strings.HasSuffix(c.name, coalesced) && c.callRates[0] > c.rates[0]:
			t.Errorf("%s: got %v calls of the store per second, want no more than takes: %v", c.name, c.callRates[0], c.rates[0])
		}
	}
}

func TestStoresThatAreMissing(t *testing.T) {
	t.Setenv("PATH", "")
	for _, required := range []string{"", "1"} {
		t.Setenv("SPILLWAY_REQUIRE_SERVICES", required)
		all := measureStores(t.Context(), t, regexp.MustCompile("Redis|MariaDB"), 0, quiet)
		want := []string{"needs redis-server", "needs mariadbd (package mariadb-server)"}
		for i, c := range all {
			if c.unavailable != want[i] || c.row()[1] != "not measured: "+want[i] {
				t.Errorf("%s: got %q, and the row %q, want %q", c.name, c.unavailable, c.row(), want[i])
			}
		}
		if tables := storeTables(all); len(all) != len(want) || len(tables) != 1 {
			t.Errorf("got %d stores and %d tables want %d and no verdicts", len(all), len(tables), len(want))
		}
	}
}

func TestStoreVerdicts(t *testing.T) {
	named := map[string]*contender{"ours": {rates: []float64{900, 1000, 1100}}, "theirs": {rates: []float64{100}}, "none": {}}
	for _, tt := range []struct {
		bound storeBound
		want  string
	}{
		{storeBound{"rate", "ours", "", 1000}, "rate|1100|1000|>= 1000|met"},
		{storeBound{"rate", "ours", "", 1001}, "rate|1100|1000|>= 1001|MISSED"},
		{storeBound{"ratio", "ours", "theirs", 8}, "ratio|11.00|10.00|>= 8.00|met"},
		{storeBound{"ratio", "ours", "theirs", 10.5}, "ratio|11.00|10.00|>= 10.50|MISSED"},
		{storeBound{"ratio", "ours", "theirs", 0}, "ratio|11.00|10.00|-|to compare"},
		{storeBound{"ratio", "ours", "none", 8}, ""},
		{storeBound{"rate", "none", "", 8}, ""},
		{storeBound{"rate", "nobody", "", 8}, ""},
	} {
		if got := strings.Join(tt.bound.verdict(named), "|"); got != tt.want {
			t.Errorf("%+v: got %q want %q", tt.bound, got, tt.want)
		}
	}
}

// TestStoreFailuresAreWarnings takes tokens from a store that denies them.
func TestStoreFailuresAreWarnings(t *testing.T) {
	c := &contender{name: "stingy", take: func(context.Context) error { return errors.New("no more") }}
	c.measureMany()
	c.finish()
	tables := storeTables([]*contender{c})
	last := tables[len(tables)-1]
	if got := strings.Join(last.rows[len(last.rows)-1], "|"); got != "stingy|0.000 %|no more" {
		t.Errorf("got %q want the share and the reason", got)
	}
}
