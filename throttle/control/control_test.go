package control_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/backoff"
	"github.com/spillway-go/spillway/throttle/control"
	"github.com/spillway-go/spillway/throttle/retry"
)

const five = `{
	"throttles": {"stock": {"mode": "off", "ratio": 3, "slow": "200ms", "by": "ana", "reason": "INC-7"}},
	"breakers": {"payments": {"mode": "shadow"}},
	"buckets": {"api": {"capacity": 50}},
	"backoffs": {"table": {"max_interval": "5s"}},
	"retries": {"orders": {"mode": "off", "attempts": 2}}
}`

// TestApply_changesEachKind and returns to the settings of the code when the lines are gone.
func TestApply_changesEachKind(t *testing.T) {
	var r recorder
	c := newControl(t, r.hooks())
	x := newThings(t, c)
	want := func(when, tuned string, mode, breaking throttle.Mode, capacity int64, longest time.Duration) {
		t.Helper()
		m, b, n, d := x.state()
		if m != mode || b != breaking || n != capacity || d != longest {
			t.Errorf("%s: got %v %v %v %v want %v %v %v %v", when, m, b, n, d, mode, breaking, capacity, longest)
		}
		got, _ := r.take()
		equal(t, when, strings.Join(got, "\n"), tuned)
	}
	apply(t, c, five)
	want("applied", `throttle stock: applied, mode enforce -> off, ratio 2 -> 3, slow 0s -> 200ms, source apply, by "ana", reason "INC-7"
breaker payments: applied, mode enforce -> shadow, source apply
bucket api: applied, capacity 10 -> 50, source apply
backoff table: applied, max_interval 30s -> 5s, source apply
retry orders: applied, mode enforce -> off, attempts 3 -> 2, source apply`, throttle.ModeOff, throttle.ModeShadow, 50, 5*time.Second)
	apply(t, c, five)
	want("applied again", "", throttle.ModeOff, throttle.ModeShadow, 50, 5*time.Second)
	if err := x.throttle.Tune(throttle.Patch{Mode: new(throttle.ModeShadow)}); err != nil {
		t.Fatal(err)
	}
	want("tuned by code", "", throttle.ModeOff, throttle.ModeShadow, 50, 5*time.Second)
	apply(t, c, `{"throttles": {"stock": {"ratio": 3}}, "buckets": {"api": {"capacity": 60, "refill": 0}}}`)
	want("changed", `throttle stock: applied, mode off -> shadow, slow 200ms -> 0s, source apply
breaker payments: ended, mode shadow -> enforce, source apply
bucket api: applied, capacity 50 -> 60, refill 10 -> 60, source apply
backoff table: ended, max_interval 5s -> 30s, source apply
retry orders: ended, mode off -> enforce, attempts 2 -> 3, source apply`, throttle.ModeShadow, throttle.ModeEnforce, 60, 30*time.Second)
	apply(t, c, `{}`)
	want("ended", `throttle stock: ended, ratio 3 -> 2, source apply
bucket api: ended, capacity 60 -> 10, refill 60 -> 10, source apply`, throttle.ModeShadow, throttle.ModeEnforce, 10, 30*time.Second)
}

// TestApply_allOrNothing names each line that is wrong, and changes none.
func TestApply_allOrNothing(t *testing.T) {
	var r recorder
	c := newControl(t, r.hooks())
	x := newThings(t, c)
	apply(t, c, `{"throttles": {"stock": {"ratio": 4}}}`)
	r.take()
	for _, tt := range []struct{ name, text, want string }{
		{"unknown name", `{"throttles": {"stock": {"mode": "off"}, "stcok": {"mode": "off"}}}`, `control: throttle "stcok": unknown name: want one that exists, or "optional": true`},
		{"range", `{"breakers": {"payments": {"mode": "off"}}, "throttles": {"stock": {"ratio": 0.5}}}`, `control: throttle "stock": throttle: Patch.Ratio is 0.5: want more than 1`},
		{"two lines", `{"throttles": {"stcok": {"mode": "off"}}, "breakers": {"payments": {"mode": "off"}}, "retries": {"orders": {"attempts": 0}}}`, `"stcok": unknown name: want one that exists, or "optional": true` + "\n" + `control: retry "orders": retry: Patch.Attempts is 0`},
		{"range of an optional name", `{"throttles": {"later": {"ratio": 0.5, "optional": true}}}`, `control: throttle "later": throttle: Patch.Ratio is 0.5`},
		{"range of an optional bucket", `{"buckets": {"later": {"period": "1ns", "optional": true}}}`, `control: bucket "later": `},
		{"range of retries", `{"retries": {"orders": {"mode": "shadow"}}}`, `control: retry "orders": retry: Patch.Mode is shadow: want ModeEnforce, or ModeOff for no retries`},
		{"range of an optional backoff", `{"backoffs": {"later": {"max_interval": "1ns", "optional": true}}}`, `control: backoff "later": backoff: Patch.MaxInterval is 1ns`},
		{"null", `{"throttles": {"stock": null}}`, `control: throttle "stock": line is null: remove it, or set something`},
		{"nothing", `{"throttles": {"stock": {"reason": "because"}}}`, `control: throttle "stock": line sets nothing`},
		{"for and until", `{"throttles": {"stock": {"mode": "off", "for": "1h", "until": "2126-01-01T00:00:00Z"}}}`, `for and until are both set: want one`},
		{"negative for", `{"throttles": {"stock": {"mode": "off", "for": "-1h"}}}`, `for is -1h0m0s: want more than 0`},
		{"long reason", fmt.Sprintf(`{"throttles": {"stock": {"mode": "off", "reason": %q}}}`, strings.Repeat("x", 501)), `reason has 501 bytes: want at most 500`},
		{"path", `{"throttles": {"../../etc/passwd": {"mode": "off", "optional": true}}}`, `name is a path with ..: want the name of a throttle`},
		{"control character", `{"throttles": {"a\nb": {"mode": "off", "optional": true}}}`, `name has control characters or is not UTF-8`},
		{"no name", `{"throttles": {"": {"mode": "off", "optional": true}}}`, `name has 0 bytes: want 1 to 255`},
		{"long name", fmt.Sprintf(`{"throttles": {%q: {"mode": "off", "optional": true}}}`, strings.Repeat("n", 256)), `name has 256 bytes: want 1 to 255`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before := c.Status()
			report, err := c.Apply(t.Context(), parse(t, tt.text))
			if err == nil || !strings.Contains(err.Error(), tt.want) || len(report.Changes) > 0 {
				t.Errorf("got %v want %s", err, tt.want)
			}
			if after := c.Status(); fmt.Sprint(after) != fmt.Sprint(before) || x.throttle.Stats().Ratio != 4 {
				t.Errorf("got %v want %v", after, before)
			}
			if tuned, _ := r.take(); tuned != nil {
				t.Errorf("got %v want no change", tuned)
			}
		})
	}
	if s := c.Stats(); s.Tunings[throttle.SourceApply] != [control.NumResults]uint64{1, 0, 16} || s.Overrides[throttle.SourceApply] != 1 {
		t.Errorf("got %+v", s)
	}
}

// TestApply_announced is about throttles and retriers that a client makes with its first call: their name is known before.
func TestApply_announced(t *testing.T) {
	var r recorder
	c := newControl(t, r.hooks())
	config := throttle.Config{Name: "stock", Hooks: c.ThrottleHooks()}
	const document = `{"throttles": {"stock": {"mode": "off"}}, "retries": {"orders": {"attempts": 2}}}`
	if _, err := c.Apply(t.Context(), parse(t, document)); err == nil {
		t.Error("before: got no error want that the name is unknown")
	}
	config.Announce()
	_ = throttle.Must(retry.NewGroup(retry.Config{Name: "orders", Hooks: c.RetryHooks()}))
	if report := apply(t, c, document); !slices.Equal(report.Missing, []string{"throttle stock", "retry orders"}) {
		t.Errorf("got %+v", report)
	}
	if tuned, _ := r.take(); len(tuned) != 2 || tuned[0] != "throttle stock: applied, mode (none yet) -> off, source apply" {
		t.Errorf("got %q", tuned)
	}
	th := throttle.Must(throttle.New(config))
	defer th.Close()
	equal(t, "mode", th.Stats().Mode, throttle.ModeOff)
}

// TestApply_laterMembers get the lines of their name when they are made. A name that had a member is known.
func TestApply_laterMembers(t *testing.T) {
	var r recorder
	c := newControl(t, r.hooks())
	g := throttle.Must(throttle.NewGroup(func(string) throttle.Config { return throttle.Config{Name: "hosts", Hooks: c.ThrottleHooks()} }, throttle.GroupConfig{Max: 1}))
	defer g.Close()
	report := apply(t, c, `{"throttles": {"hosts": {"mode": "off", "optional": true}}}`)
	if !slices.Equal(report.Missing, []string{"throttle hosts"}) || len(report.Changes) != 1 {
		t.Errorf("got %+v", report)
	}
	for _, key := range []string{"a", "b"} {
		th, err := g.Get(key)
		if err != nil || th.Stats().Mode != throttle.ModeOff {
			t.Errorf("got %v, %v", th.Stats().Mode, err)
		}
	}
	g.Close()
	equal(t, "missing, a closed name", len(apply(t, c, `{"throttles": {"hosts": {"mode": "shadow"}}}`).Missing), 1)
	r.take()
	// A backoff whose delays begin with a minute cannot end them after a second.
	apply(t, c, `{"backoffs": {"slow": {"max_interval": "1s", "optional": true}}}`)
	b := backoff.Must(backoff.New(backoff.Config{Name: "slow", InitialInterval: time.Minute, MaxInterval: time.Hour, Hooks: c.BackoffHooks()}))
	now, _ := b.Tuning()
	if _, failed := r.take(); len(failed) != 1 || !strings.Contains(failed[0].Error(), `control: backoff "slow": backoff: Patch.MaxInterval is 1s`) || now.MaxInterval != time.Hour {
		t.Errorf("got %v", failed)
	}
	if all := c.Status().Things; len(all) != 1 || all[0].Settings[0] != (control.Setting{Name: "max_interval", Value: "1h0m0s", Code: "1h0m0s"}) {
		t.Errorf("status of a line that its only instance has refused: got %+v", all)
	}
}

// TestUntil ends lines by themselves, each at its time.
func TestUntil(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r recorder
		c := newControl(t, r.hooks())
		x := newThings(t, c)
		report := apply(t, c, `{"throttles": {"stock": {"mode": "off", "for": "90s"}}, "breakers": {"payments": {"mode": "off", "for": "2h"}}, "backoffs": {"table": {"max_interval": "1s", "until": "1999-01-01T00:00:00Z"}}}`)
		if len(report.Changes) != 2 || !report.Changes[0].Until.Equal(time.Now().Add(90*time.Second)) {
			t.Errorf("got %v want two lines, because the third has ended", report.Changes)
		}
		for _, tt := range []struct {
			after          time.Duration
			mode, breaking throttle.Mode
		}{
			{89 * time.Second, throttle.ModeOff, throttle.ModeOff},
			{2 * time.Second, throttle.ModeEnforce, throttle.ModeOff},
			{2*time.Hour - 92*time.Second, throttle.ModeEnforce, throttle.ModeOff},
			{2 * time.Second, throttle.ModeEnforce, throttle.ModeEnforce},
		} {
			time.Sleep(tt.after)
			synctest.Wait()
			if mode, breaking, _, _ := x.state(); mode != tt.mode || breaking != tt.breaking {
				t.Errorf("%v later: got %v and %v want %v and %v", tt.after, mode, breaking, tt.mode, tt.breaking)
			}
		}
		tuned, _ := r.take()
		if len(tuned) != 4 || tuned[2] != "throttle stock: ended, mode off -> enforce, source apply, until 2000-01-01T00:01:30Z" {
			t.Errorf("got %q", tuned)
		}
		if s := c.Stats(); s.Tunings[throttle.SourceApply] != [control.NumResults]uint64{2, 2, 0} || s.Overrides[throttle.SourceApply] != 0 {
			t.Errorf("got %+v", s)
		}
		if s := c.Stats(); len(s.Last) != 2 || s.Last[0] != (control.LastChange{"breaker", "payments", throttle.SourceApply, s.Last[0].At}) ||
			!s.Last[1].At.Equal(report.Changes[0].Until) || s.Last[1].Name != "stock" {
			t.Errorf("got %+v want a breaker, and a throttle when its line ended", s.Last)
		}
	})
}

// TestStatus returns where each value comes from.
func TestStatus(t *testing.T) {
	c := newControl(t, control.Hooks{})
	newThrottle(t, c, "stock")
	newThrottle(t, c, "stock")
	apply(t, c, `{"throttles": {"stock": {"mode": "off", "by": "ana", "reason": "INC-7"}, "later": {"ratio": 3, "optional": true}}}`)
	var got []string
	for _, thing := range c.Status().Things {
		got = append(got, fmt.Sprint(thing.Kind, " ", thing.Name, " ", thing.Instances))
		for _, s := range thing.Settings {
			got = append(got, fmt.Sprintf("%s=%s code=%s %v %s %s", s.Name, s.Value, s.Code, s.Source, s.By, s.Reason))
		}
	}
	want := []string{
		"throttle later 0", "ratio=3 code= apply  ",
		"throttle stock 2", "mode=off code=enforce apply ana INC-7", "ratio=2 code=2 code  ", "minimum_rate=1 code=1 code  ",
		"background=0 code=0 code  ", "slow=0s code=0s code  ", "slow_gate=enforce code=enforce code  ",
		"slow_auto=false code=false code  ", "processor_wait=0s code=0s code  ", "canceled_after=0s code=0s code  ",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// TestControl_concurrent applies documents while throttles are made and closed. In the end all have the last.
func TestControl_concurrent(t *testing.T) {
	c := newControl(t, control.Hooks{})
	var mu sync.Mutex
	var all []*throttle.Throttle
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for i := range 50 {
				th := throttle.Must(throttle.New(throttle.Config{Name: "stock", Hooks: c.ThrottleHooks()}))
				if i%2 == 0 {
					_ = th.Close()
					continue
				}
				mu.Lock()
				all = append(all, th)
				mu.Unlock()
			}
		})
		group.Go(func() {
			for i := range 50 {
				ratio := 2 + float64(i)
				if _, err := c.Apply(t.Context(), control.Document{Throttles: map[string]*control.Throttle{"stock": {Terms: control.Terms{Optional: true}, Patch: throttle.Patch{Ratio: &ratio}}}}); err != nil {
					t.Error(err)
				}
				c.Status()
			}
		})
	}
	group.Wait()
	want := c.Status().Things[0].Settings[1].Value
	for _, th := range all {
		equal(t, "ratio", fmt.Sprint(th.Stats().Ratio), want)
	}
}

// TestControl_misuse returns an error or nothing.
func TestControl_misuse(t *testing.T) {
	closed := newControl(t, control.Hooks{})
	_ = closed.Close()
	_ = closed.Close()
	for name, c := range map[string]*control.Control{"nil": nil, "zero": {}, "closed": closed} {
		if _, err := c.Apply(context.Background(), control.Document{}); err == nil {
			t.Errorf("%s: Apply: got no error", name)
		}
		if err := c.Watch(context.Background(), "x"); err == nil {
			t.Errorf("%s: Watch: got no error", name)
		}
	}
	equal(t, "status of a POST after Close", send(newHandler(t, closed, byHeader), http.MethodPost, off, nil).Code, http.StatusServiceUnavailable)
	for name, c := range map[string]*control.Control{"nil": nil, "zero": {}} {
		if c.ThrottleHooks().Created != nil || len(c.Status().Things) > 0 || c.Close() != nil {
			t.Errorf("%s: got something", name)
		}
	}
}

// TestHooks_panic ends no change.
func TestHooks_panic(t *testing.T) {
	c := newControl(t, control.Hooks{Tuned: func(context.Context, control.TunedEvent) { panic(errors.New("broken")) }})
	x := newThings(t, c)
	apply(t, c, five)
	if m, b, n, _ := x.state(); m != throttle.ModeOff || b != throttle.ModeShadow || n != 50 || c.Stats().HookPanics != 5 {
		t.Errorf("got %v %v %v, %d panics", m, b, n, c.Stats().HookPanics)
	}
}

// TestClose keeps what is in force.
func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newControl(t, control.Hooks{})
		th := newThrottle(t, c, "stock")
		apply(t, c, `{"throttles": {"stock": {"mode": "off", "for": "1m"}}}`)
		_ = c.Close()
		time.Sleep(time.Hour)
		equal(t, "mode", th.Stats().Mode, throttle.ModeOff)
	})
}

// TestApply_copies the document: its owner can change it afterwards.
func TestApply_copies(t *testing.T) {
	c := newControl(t, control.Hooks{})
	d := parse(t, `{"throttles": {"stock": {"mode": "off", "for": "1h"}}}`)
	newThrottle(t, c, "stock")
	if _, err := c.Apply(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	if d.Throttles["stock"].For != throttle.Duration(time.Hour) {
		t.Error("Apply changed the document")
	}
	d.Throttles["stock"].Reason, d.Throttles["other"] = "changed", nil
	if s := c.Status(); len(s.Things) != 1 || s.Things[0].Settings[0].Reason != "" {
		t.Errorf("got %+v", s)
	}
}

// TestApply_copiesSettings: a client of feature flags may keep each setting in one variable.
func TestApply_copiesSettings(t *testing.T) {
	var r recorder
	c := newControl(t, r.hooks())
	th := newThrottle(t, c, "stock")
	mode := throttle.ModeShadow
	d := control.Document{Throttles: map[string]*control.Throttle{"stock": {Patch: throttle.Patch{Mode: &mode}}}}
	for _, next := range []throttle.Mode{throttle.ModeOff, throttle.ModeShadow} {
		if _, err := c.Apply(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		before := mode
		mode = next
		if tuned, _ := r.take(); th.Stats().Mode != before || len(tuned) != 1 || c.Status().Things[0].Settings[0].Value != before.String() {
			t.Errorf("got mode %v, changes %q, status %+v want %v", th.Stats().Mode, tuned, c.Status(), before)
		}
	}
}

// TestHooks_wholeDocument are called when all of a document is in force.
func TestHooks_wholeDocument(t *testing.T) {
	var a, b *throttle.Throttle
	tuned := 0
	c := newControl(t, control.Hooks{Tuned: func(context.Context, control.TunedEvent) {
		tuned++
		equal(t, "ratio of one document", a.Stats().Ratio, b.Stats().Ratio+1)
	}})
	a, b = newThrottle(t, c, "a"), newThrottle(t, c, "b")
	for ratio := range 50 {
		apply(t, c, fmt.Sprintf(`{"throttles": {"a": {"ratio": %d}, "b": {"ratio": %d}}}`, ratio+4, ratio+3))
	}
	equal(t, "calls of the hook: one for each line", tuned, 100)
}
