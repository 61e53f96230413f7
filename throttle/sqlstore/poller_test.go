package sqlstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/breaker"
)

func TestNewPollerErrors(t *testing.T) {
	db := brokenDB(t, errBroken)
	for name, c := range map[string]struct {
		change func(*PollerConfig)
		want   string
	}{
		"no table":              {func(c *PollerConfig) { c.Table = "" }, "PollerConfig.Table"},
		"hostile table":         {func(c *PollerConfig) { c.Table = `a"b` }, "PollerConfig.Table"},
		"no key":                {func(c *PollerConfig) { c.KeyColumn = "" }, "PollerConfig.KeyColumn"},
		"no time":               {func(c *PollerConfig) { c.TimeColumn = "" }, "PollerConfig.TimeColumn"},
		"qualified column":      {func(c *PollerConfig) { c.TimeColumn = "d.at" }, "PollerConfig.TimeColumn"},
		"hostile tenant":        {func(c *PollerConfig) { c.TenantColumn = "a b" }, "PollerConfig.TenantColumn"},
		"hostile reporter":      {func(c *PollerConfig) { c.ReporterColumn = "1" }, "PollerConfig.ReporterColumn"},
		"hostile status":        {func(c *PollerConfig) { c.StatusColumn = "1=1" }, "PollerConfig.StatusColumn"},
		"no type of time":       {func(c *PollerConfig) { c.TimeType = 0 }, "PollerConfig.TimeType is missing: want UTC"},
		"unknown type of time":  {func(c *PollerConfig) { c.TimeType = 6 }, "time_type(6)"},
		"an instant":            {func(c *PollerConfig) { c.TimeType = TimeInstant }, "SQLite has no column with time zones"},
		"no status":             {func(c *PollerConfig) { c.StatusColumn, c.Failed = "", nil }, "StatusColumn and FailedIf are missing"},
		"status and expression": {func(c *PollerConfig) { c.FailedIf = "true" }, "want one of them"},
		"no failures":           {func(c *PollerConfig) { c.Failed = nil }, "PollerConfig.Failed is missing"},
		"values of nothing":     {func(c *PollerConfig) { c.StatusColumn, c.FailedIf = "", "true" }, "PollerConfig.StatusColumn is required with Failed and Succeeded"},
		"successes of nothing":  {func(c *PollerConfig) { c.StatusColumn, c.Failed, c.Succeeded = "", nil, []any{1} }, "PollerConfig.StatusColumn is required with Failed and Succeeded"},
		"values, no status":     {func(c *PollerConfig) { c.StatusColumn, c.Succeeded = "", []any{1} }, "PollerConfig.StatusColumn is required with Failed and Succeeded"},
		"only SucceededIf":      {func(c *PollerConfig) { c.StatusColumn, c.Failed, c.SucceededIf = "", nil, "true" }, "PollerConfig.FailedIf is required with SucceededIf"},
		"success without":       {func(c *PollerConfig) { c.SucceededIf = "true" }, "PollerConfig.SucceededIf does not work with StatusColumn"},
	} {
		config := goodConfig()
		c.change(&config)
		if p, err := NewPoller(db, SQLite, config); p != nil || err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v want %q", name, err, c.want)
		}
	}
	if _, err := NewPoller(nil, SQLite, goodConfig()); err == nil {
		t.Error("no database: got no error")
	}
	if _, err := NewPoller(db, 0, goodConfig()); err == nil {
		t.Error("no dialect: got no error")
	}
}

func TestPollFailures(t *testing.T) {
	p := throttle.Must(NewPoller(brokenDB(t, errBroken), SQLite, goodConfig()))
	if _, err := p.Poll(context.Background(), breaker.PollQuery{}); err == nil || !strings.Contains(err.Error(), "PollQuery.Window is 0s") {
		t.Errorf("no window: got %v", err)
	}
	if _, err := p.Poll(context.Background(), breaker.PollQuery{Window: time.Minute}); !errors.Is(err, errBroken) || !strings.Contains(err.Error(), "poll of table deliveries") {
		t.Errorf("no database: got %v", err)
	}
}

// TestQueryParameters wants one placeholder for each parameter, in order, in queries of all kinds.
func TestQueryParameters(t *testing.T) {
	place := regexp.MustCompile(`\$\d+|\?`)
	for _, d := range []Dialect{PostgreSQL, MySQL, SQLite} {
		for at := TimeInstant; at <= TimeUnixMicros; at++ {
			for kind := range 16 {
				config := goodConfig()
				config.TimeType = at
				q := breaker.PollQuery{Window: time.Minute, MinFailures: 3}
				if kind&1 > 0 {
					config.TenantColumn, config.ReporterColumn = "tenant", "agent"
				}
				if kind&2 > 0 {
					q.Since = map[breaker.Key]time.Duration{{ID: "k"}: time.Second}
				}
				if kind&4 > 0 {
					config.Failed, config.Succeeded = []any{"failed", 500}, []any{200, 201, 202}
				}
				if kind&8 > 0 {
					config.StatusColumn, config.Failed, config.Succeeded, config.FailedIf = "", nil, nil, "code >= 500"
				}
				if d == SQLite && at == TimeInstant {
					continue
				}
				query, args := queryOf(t, d, config, q)
				places := place.FindAllString(query, -1)
				var want []string
				for i := range args {
					if d == PostgreSQL {
						want = append(want, fmt.Sprintf("$%d", i+1))
					} else {
						want = append(want, "?")
					}
				}
				if !slices.Equal(places, want) || args[len(args)-1] != 3.0 {
					t.Errorf("%v %v %d: got %v for %v in\n%s", d, at, kind, places, args, query)
				}
			}
		}
	}
}

func TestMinFailuresIsANumber(t *testing.T) {
	for _, c := range [][2]float64{{-1, 0}, {0, 0}, {2.5, 2.5}, {math.Inf(-1), 0}, {math.NaN(), 0}} {
		_, args := queryOf(t, PostgreSQL, goodConfig(), breaker.PollQuery{Window: time.Minute, MinFailures: c[0]})
		equals(t, args[len(args)-1], any(c[1]), "%v", c[0])
	}
}

func TestKeyWindows(t *testing.T) {
	q := breaker.PollQuery{Window: time.Minute, Since: map[breaker.Key]time.Duration{
		{ID: "a"}: time.Second, {ID: "past"}: -time.Second, {ID: "future"}: time.Hour, {ID: "\x00"}: 1, {ID: "\xff"}: 1, {Tenant: "t", ID: "a"}: 2 * time.Second,
	}}
	for _, c := range []struct {
		d      Dialect
		tenant string
		want   string
	}{
		{PostgreSQL, "", `{"tenant":"","id":"a","span":1000000} {"tenant":"","id":"future","span":60000000} {"tenant":"","id":"past","span":0}`},
		{PostgreSQL, "tenant", `{"tenant":"","id":"a","span":1000000} {"tenant":"","id":"future","span":60000000} {"tenant":"","id":"past","span":0} ` +
			`{"tenant":"t","id":"a","span":2000000}`},
		{SQLite, "", `{"tenant":"","id":"00","span":0} {"tenant":"","id":"61","span":1000000} {"tenant":"","id":"667574757265","span":60000000} ` +
			`{"tenant":"","id":"70617374","span":0} {"tenant":"","id":"FF","span":0}`},
	} {
		b := queryBuilder{dialect: c.d, config: &PollerConfig{TenantColumn: c.tenant}}
		var got []string
		for _, s := range b.keyWindows(q) {
			text := throttle.Must(json.Marshal(s))
			got = append(got, string(text))
		}
		slices.Sort(got)
		equals(t, strings.Join(got, " "), c.want, "%v %q", c.d, c.tenant)
	}
	b := queryBuilder{dialect: MySQL, config: &PollerConfig{TenantColumn: "tenant"}}
	if got := b.keyWindows(q); len(got) != 6 || len(got[0].ID) != 64 {
		t.Errorf("MySQL: got %v want 6 hashes", got)
	}
}
