package sources

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/breaker"
	"github.com/spillway-go/spillway/throttle/statusz"
)

func TestBreaker_states(t *testing.T) {
	in := func(states ...breaker.State) breaker.Stats {
		s := breaker.Stats{Running: true}
		for _, state := range states {
			s.Circuits[state]++
		}
		return s
	}
	with := func(s breaker.Stats, change func(*breaker.Stats)) breaker.Stats {
		change(&s)
		return s
	}
	dry := func(s *breaker.Stats) { s.Mode = throttle.ModeShadow }
	idle := func(s *breaker.Stats) { s.Running, s.NotRunning = false, true }
	for _, tt := range []struct {
		name  string
		stats breaker.Stats
		state string
		level statusz.Level
	}{
		{"nothing known", in(), "closed", statusz.OK},
		{"closed again", in(breaker.Closed), "closed", statusz.OK},
		{"half-open", in(breaker.Closed, breaker.HalfOpen), "half_open", statusz.Warn},
		{"open", in(breaker.HalfOpen, breaker.Open), "open", statusz.Bad},
		{"disabled", in(breaker.HalfOpen, breaker.Open, breaker.Disabled), "disabled", statusz.Bad},
		{"open in shadow", with(in(breaker.Open), dry), "open, shadow", statusz.Warn},
		{"stale", with(in(breaker.Disabled), func(s *breaker.Stats) { s.Stale = true }), "stale", statusz.Warn},
		{"never read", with(in(), func(s *breaker.Stats) { s.SnapshotAge = -1 }), "never read", statusz.Warn},
		{"stale and closed to all", with(in(), func(s *breaker.Stats) { s.Stale, s.OnStale = true, breaker.FailClosed }), "stale", statusz.Bad},
		{"never read, closed to all, in shadow", with(in(), func(s *breaker.Stats) {
			s.SnapshotAge, s.OnStale, s.Mode = -1, breaker.FailClosed, throttle.ModeShadow
		}), "never read, shadow", statusz.Warn},
		{"not running", with(in(), idle), "not running: nothing opens", statusz.Warn},
		{"half-open, not running", with(in(breaker.HalfOpen), idle), "not running: nothing opens", statusz.Warn},
		{"never read, not running", with(in(), func(s *breaker.Stats) { s.SnapshotAge, s.NotRunning = -1, true }), "not running: nothing opens", statusz.Warn},
		{"disabled, not running", with(in(breaker.Disabled), idle), "disabled, not running: nothing opens", statusz.Bad},
		{"open in shadow, not running", with(with(in(breaker.Open), dry), idle), "not running: nothing opens, shadow", statusz.Warn},
		{"never read, closed to all, not running", with(in(), func(s *breaker.Stats) {
			s.SnapshotAge, s.OnStale, s.NotRunning = -1, breaker.FailClosed, true
		}), "never read, not running: nothing opens", statusz.Bad},
	} {
		if state, level := breakerState(&tt.stats); state != tt.state || level != tt.level {
			t.Errorf("%s: got %q and %v want %q and %v", tt.name, state, level, tt.state, tt.level)
		}
	}
}

// TestBreaker_showsStatsAndCircuits opens one circuit and disables another.
func TestBreaker_showsStatsAndCircuits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		polls := 0
		m := breaker.Must(breaker.New(breaker.Config{Name: "hooks", Poll: func(context.Context, breaker.PollQuery) (map[breaker.Key]breaker.PollResult, error) {
			if polls++; polls > 1 {
				return nil, context.DeadlineExceeded
			}
			return map[breaker.Key]breaker.PollResult{{Tenant: "acme", ID: "a"}: {Failures: 75, Successes: 25}}, nil
		}}))
		ctx, cancel := context.WithCancel(t.Context())
		go func() { _ = m.Run(ctx) }()
		time.Sleep(time.Second)
		if err := m.Disable(ctx, breaker.Key{ID: "b"}); err != nil {
			t.Fatalf("Disable: got error %v want nil", err)
		}
		for _, id := range []string{"b", "b", "c"} {
			_ = m.CanExecute(ctx, breaker.Key{ID: id})
		}
		time.Sleep(5 * time.Second)
		s := Breaker(m).Status()
		for name, want := range map[string]float64{
			"disabled": 1, "open": 1, "half-open": 0, "closed again": 0, "calls admitted": 1, "shed": 2, "leads (term ": 1,
			"failures: poll": 1, `open "acme"/"a", failed`: 75,
		} {
			if got := figure(t, s, name); got != want {
				t.Errorf("%s: got %v want %v", name, got, want)
			}
		}
		if got := figure(t, s, `disabled "b", failed`); !math.IsNaN(got) {
			t.Errorf("failures of what was disabled by hand: got %v want none", got)
		}
		if got := figure(t, s, "store read"); got < 0 || got > 1.5 {
			t.Errorf("age of the snapshot: got %v want about a second", got)
		}
		var changes []string
		for _, c := range s.Transitions {
			changes = append(changes, c.To)
		}
		if got, want := strings.Join(changes, "; "), `open "acme"/"a", failing; disabled "b", by_hand`; got != want {
			t.Errorf("changes: got %s want %s", got, want)
		}
		if s.Name != "hooks" || s.Kind != "breaker" || s.State != "disabled" || s.Level != statusz.Bad {
			t.Errorf("got %s %s, %s, %v want breaker hooks, disabled, bad", s.Kind, s.Name, s.State, s.Level)
		}
		// Its time is over, but the leader has not recorded that, because its polls fail.
		time.Sleep(30 * time.Second)
		s = Breaker(m).Status()
		if got := figure(t, s, "half-open"); got != 1 || s.Transitions[0].To != `open "acme"/"a", failing` {
			t.Errorf("half-open: got %v, changed %v want 1, and the change to open", got, s.Transitions[0])
		}
		cancel()
		synctest.Wait()
	})
}

// TestBreaker_showsTheWorstCircuits has more circuits than are shown.
func TestBreaker_showsTheWorstCircuits(t *testing.T) {
	var list []breaker.Status
	for i := range 40 {
		state := []breaker.State{breaker.Closed, breaker.HalfOpen, breaker.Open, breaker.Disabled}[i%4]
		list = append(list, breaker.Status{Key: breaker.Key{ID: fmt.Sprint(i)}, State: state, ChangedAt: time.Unix(int64(100+i), 0), Failures: 1})
	}
	var got []string
	for _, f := range circuitFigures(list[12:24]) {
		got = append(got, strings.TrimSuffix(f.Name, ", failed"))
	}
	if want := `disabled "23" disabled "19" disabled "15" open "22" open "18"`; strings.Join(got, " ") != want {
		t.Errorf("got %s want %s", strings.Join(got, " "), want)
	}
	if last := transitions(list); len(last) != 10 || last[9].To != `disabled "39", ` || !last[0].Time.Equal(time.Unix(130, 0)) {
		t.Errorf("transitions: got %v want the last ten", last)
	}
	if len(circuitFigures(nil)) != 0 || len(transitions(nil)) != 0 || list[0].Key.ID != "0" {
		t.Error("got circuits out of nothing, or a changed argument")
	}
}

func TestShortPart(t *testing.T) {
	for _, tt := range []struct{ part, want string }{
		{"", ""},
		{strings.Repeat("x", 60), strings.Repeat("x", 60)},
		{"https://hooks.example.com/" + strings.Repeat("x", 99) + "/7", "https://hooks.example.com/xx…" + strings.Repeat("x", 26) + "/7"},
		{strings.Repeat("注", 40), strings.Repeat("注", 9) + "…" + strings.Repeat("注", 9)},
		{strings.Repeat("\xff", 1<<20), "…"},
	} {
		if got := shortPart(tt.part); got != tt.want || !utf8.ValidString(got) {
			t.Errorf("shortPart(%.20q): got %q want %q", tt.part, got, tt.want)
		}
	}
}
