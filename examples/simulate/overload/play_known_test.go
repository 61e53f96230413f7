//go:build !race

package overload

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle"
)

// due are the figures that a scenario must have.
func due(s Scenario) []string {
	first := &s.Cases[0]
	var names []string
	if !first.Phases[0].Disturbed {
		names = append(names, "false_shed")
	}
	if first.Phases[0].Load[throttle.High] > 0 {
		names = append(names, "success_high")
	}
	if !slices.ContainsFunc(first.Phases, func(p Phase) bool { return p.Capacity == 0 }) {
		names = append(names, "sent", "goodput", "waste", "fairness")
	}
	if overloads(first.Phases) {
		names = append(names, "time_to_shed", "time_to_recover")
	}
	if healthyBeside(&first.Phases[len(first.Phases)-1]) != nil {
		names = append(names, "steady", "steady_worst", "whole", "whole_worst")
	}
	return names
}

// TestScenariosKnownFigures plays every scenario with each of our policies, and wants that each figure is known and in its
// range.
func TestScenariosKnownFigures(t *testing.T) {
	for _, s := range Scenarios() {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			due, by := due(s), time.Duration(30)
			if len(s.Cases) > 1 {
				by = 120
			}
			s = shortened(s, by)
			s.Clients = min(s.Clients, 50)
			if testing.Short() {
				s.Cases = s.Cases[:min(len(s.Cases), 8)]
			}
			for _, p := range ours() {
				f := play(t, s, p, 1, fewer()).Figures
				for i, name := range FigureNames() {
					x := f.Values()[i]
					if math.IsNaN(x) && slices.Contains(due, name) && !(name == "fairness" && f.Goodput == 0) {
						t.Errorf("%s: %s is NaN: %+v", p.Name, name, f)
					}
					if x < 0 || x > 1.0001 && !slices.Contains([]string{"sent", "time_to_shed", "time_to_recover", "most_open", "attempts", "shed_per_failed", "time_to_admit"}, name) {
						t.Errorf("%s: %s is %v", p.Name, name, x)
					}
				}
			}
		})
	}
}

// bound is the range of a figure. Most are a little wider than what five seeds give.
type bound struct {
	figure    string
	low, high float64
}

// bounded is a scenario that a policy plays, and the bounds of its figures.
type bounded struct {
	scenario, policy string // the policy may have a retry rule after a +
	options          Options
	bounds           []bound
}

func playBounded(t *testing.T, all []bounded) {
	t.Helper()
	for _, b := range all {
		o := b.options
		t.Run(fmt.Sprintf("%s, %s, certain %v, %d clients, slow %v", b.scenario, b.policy, o.Certain, o.Clients, o.Settings.Slow), func(t *testing.T) {
			t.Parallel()
			name, rule, _ := strings.Cut(b.policy, "+")
			p := policy(t, name)
			p.Retry = rule
			figures := play(t, scenario(t, b.scenario), p, 1, o).Figures.Values()
			for _, of := range b.bounds {
				if got := figures[slices.Index(FigureNames(), of.figure)]; !(got >= of.low && got <= of.high) {
					t.Errorf("%s is %.3f, want %v to %v", of.figure, got, of.low, of.high)
				}
			}
		})
	}
}

// TestKnownFigures holds the whole machinery to figures of five seeds and more. Another simulator gave them before this
// one was written, except those of Tiered. Not under the race detector, which takes a minute for it.
func TestKnownFigures(t *testing.T) {
	about := func(figure string, want, tolerance float64) bound {
		return bound{figure, want - tolerance, want + tolerance}
	}
	goodput := func(want float64) bound { return about("goodput", want, 0.003) }
	high := func(want float64) bound { return about("success_high", want, 0.01) }
	shed := func(want float64) bound { return about("time_to_shed", want, 0.2+0.07*want) }
	recovery := func(want float64) bound { return about("time_to_recover", want, 0.5+0.1*want) }
	fairness := func(want float64) bound { return about("fairness", want, 0.015) }
	all := []bounded{
		{"over5", "tiered", Options{}, []bound{goodput(0.983), high(0.883), shed(0.5), recovery(7.6), fairness(0.955)}},
		{"over2", "sre", Options{}, []bound{goodput(0.936), high(0.666), shed(26.2), fairness(1)}},
		{"over5", "sre", Options{}, []bound{goodput(0.894), high(0.571), shed(6.5), fairness(0.99)}},
		{"over10", "sre", Options{}, []bound{goodput(0.862), high(0.388), shed(3), fairness(0.99)}},
		{"over5-aware", "sre", Options{}, []bound{goodput(0.895), high(1), shed(6.25), fairness(1)}},
		{"over10", "tiered", Options{}, []bound{goodput(0.979), high(0.848), shed(0.35), recovery(7.3), fairness(0.993)}},
		{"outage", "tiered", Options{}, []bound{high(0), shed(1.5), recovery(3)}},
		{"over5", "adaptive", Options{}, []bound{goodput(0.878), high(0.181), shed(6.6), recovery(37), fairness(0.98)}},
		{"over10", "adaptive", Options{}, []bound{goodput(0.860), high(0.092), shed(3), recovery(54.3), fairness(0.97)}},
		{"over10", "gozero", Options{}, []bound{goodput(0.926), high(0.094), shed(0.75), recovery(12.3), fairness(0.96)}},
		{"over5", "failsafe-prio", Options{}, []bound{goodput(0.906), high(0.627), shed(3.5), recovery(54), fairness(1)}},
	}
	if testing.Short() {
		all = all[:1] // the one in which the most can go wrong
	}
	playBounded(t, all)
}

// TestTieredV1KnownFigures compares with the figures of policy Tiered at that time. They were the same to the last
// digit, but other processors may round differently.
func TestTieredV1KnownFigures(t *testing.T) {
	fleet := Options{Clients: 23, Capacity: 230}
	playBounded(t, []bounded{
		{"over5", "tiered-v1", fleet, []bound{{"goodput", 0.959, 0.969}, {"success_high", 0.862, 0.872}, {"shed_all", 0.624, 0.634}}},
		{"half", "tiered-v1", fleet, []bound{{"goodput", 0.937, 0.947}, {"success_high", 0.627, 0.637}, {"shed_all", 0.034, 0.044}}},
		{"errors30", "tiered-v1", fleet, []bound{{"goodput", 0.994, 1}, {"success_high", 0.681, 0.691}, {"shed_all", 0, 0.006}}},
	})
}

// TestPeersKnownFigures: each keeps the open calls of a client far below those without a limit, and sheds little in healthy times.
func TestPeersKnownFigures(t *testing.T) {
	s := shortened(scenario(t, "pool5-10"), 6)
	none := play(t, s, policy(t, "none"), 1, Options{}).Figures
	for _, p := range limiters() {
		t.Run(p.Name, func(t *testing.T) {
			f := play(t, s, p, 1, Options{}).Figures
			if f.FalseShed > 0.25 || f.MostOpen > none.MostOpen/2 || f.Goodput < none.Goodput {
				t.Errorf("got false shed %v, %v open, goodput %v, want 0.25 at most, %v at most, %v at least",
					f.FalseShed, f.MostOpen, f.Goodput, none.MostOpen/2, none.Goodput)
			}
		})
	}
}

// TestReportsKnownFigures compares clients that receive load reports with those that do not.
func TestReportsKnownFigures(t *testing.T) {
	fleet := Options{Clients: 23, RejectionCost: 0.25}
	playBounded(t, []bounded{
		{"reports5", "listening", fleet, []bound{{"goodput", 0.96, 1}, {"success_high", 0.98, 1}, {"time_to_recover", 0, 4}}},
		{"reports-join20", "listening", fleet, []bound{{"false_shed", 0, 0.005}}},
		{"reports-join20", "tiered", fleet, []bound{{"false_shed", 0.01, 1}}},
		{"always-calm", "tiered", fleet, []bound{{"goodput", 0.95, 1}, {"success_high", 0.885, 1}}},
		{"always-calm", "listening", fleet, []bound{{"goodput", 0.95, 1}, {"success_high", 0.885, 1}}},
		{"always-full", "listening", fleet, []bound{{"false_shed", 0, 0.02}}},
	})
}

// TestSlowProtectsHighKnownFigures: goodput and success of High during overloads of backends that only become slow, with what is reached
// without Slow.
func TestSlowProtectsHighKnownFigures(t *testing.T) {
	if testing.Short() {
		t.Skip("long: thousands of calls per second for minutes")
	}
	slow := Options{Settings: Settings{Slow: 150 * time.Millisecond}}
	playBounded(t, []bounded{
		{"queue2", "tiered", slow, []bound{{"goodput", 0.96, 1}, {"success_high", 0.95, 1}}},
		{"queue2", "tiered", Options{}, []bound{{"goodput", 0, 0.7}, {"success_high", 0, 0.85}}},
		{"pool5-100", "tiered", slow, []bound{{"goodput", 0.93, 1}, {"success_high", 0.94, 1}}},
		{"pool5-100", "tiered", Options{}, []bound{{"goodput", 0, 0.7}, {"success_high", 0, 0.7}}},
		{"slow-ramp-10", "tiered", slow, []bound{{"goodput", 0.8, 1}, {"success_high", 0.9, 1}}},
		{"slow-ramp-10", "tiered", Options{}, []bound{{"goodput", 0, 0.7}, {"success_high", 0, 0.5}}},
	})
}

// TestSlowKnownFigures wants the same figures with and without Slow if no call is late, to the last digit.
func TestSlowKnownFigures(t *testing.T) {
	for _, name := range []string{"over5", "errors20", "outage", "bimodal", "slow-step"} {
		s := shortened(scenario(t, name), 6)
		for _, p := range []string{"sre", "tiered"} {
			off := play(t, s, policy(t, p), 1, fewer())
			o := fewer()
			o.Settings.Slow = 300 * time.Millisecond
			if on := play(t, s, policy(t, p), 1, o); bits(on) != bits(off) {
				t.Errorf("%s with %s: got %+v, want %+v", name, p, on.Figures, off.Figures)
			}
		}
	}
}

// TestBadLuckKnownFigures plays a fleet, and checks what Tiered reaches, with a backend that says that it is full and with one
// that says nothing. docs/sre-or-tiered.md says where it should be better.
func TestBadLuckKnownFigures(t *testing.T) {
	silent := func(clients int) Options { return Options{Clients: clients, RejectionCost: 0.25} }
	full := func(clients int) Options { return Options{Clients: clients, RejectionCost: 0.25, Certain: true} }
	playBounded(t, []bounded{
		{"half", "tiered", full(23), []bound{{"goodput", 0.94, 1}, {"success_high", 0.97, 1}, {"success_important", 0.97, 1}}},
		{"half", "tiered", silent(23), []bound{{"goodput", 0.955, 1}, {"success_high", 0.91, 1}, {"success_important", 0.89, 1}}},
		{"half-errors10", "tiered", silent(23), []bound{{"success_high", 0.74, 1}}},
		{"third", "tiered", full(23), []bound{{"success_high", 0.955, 1}, {"success_important", 0.87, 1}}},
		{"third", "tiered", silent(23), []bound{{"success_high", 0.89, 1}, {"success_important", 0.78, 1}}},
		{"hiccup1", "tiered", silent(23), []bound{{"shed_per_failed", 0, 0.1}, {"time_to_admit", 0, 1}}},
		{"hiccup2", "tiered", full(23), []bound{{"shed_per_failed", 0, 0.7}, {"time_to_admit", 0, 2}}},
		{"hiccup5", "tiered", silent(23), []bound{{"shed_per_failed", 0, 0.5}, {"time_to_admit", 0, 2.5}}},
		{"hiccups", "tiered", full(23), []bound{{"shed_all", 0, 0.013}}},
		{"pair", "tiered", silent(23), []bound{{"time_to_recover", 0, 4}}},
		{"one-priority", "tiered", full(23), []bound{{"goodput", 0.97, 1}, {"sent", 0, 1.035}}},
		{"turn", "tiered", full(23), []bound{{"goodput", 0.94, 1}, {"success_high", 0.46, 1}}},
		{"turn", "tiered", silent(23), []bound{{"goodput", 0.935, 1}, {"success_high", 0.46, 1}}},
		{"margin", "tiered", full(23), []bound{{"success_high", 0.955, 1}, {"success_important", 0.84, 1}}},
		{"margin", "tiered", silent(23), []bound{{"success_high", 0.885, 1}, {"success_important", 0.76, 1}}},
		{"join10", "tiered", silent(23), []bound{{"false_shed", 0, 0.06}}},
		{"join20", "tiered", silent(23), []bound{{"false_shed", 0, 0.06}}},
		{"retry20", "tiered", silent(23), []bound{{"false_shed", 0, 0.07}}},
		{"overerrors20", "tiered", full(23), []bound{{"goodput", 0.83, 1}}},
		{"brownout", "tiered", full(23), []bound{{"time_to_recover", 0, 25}}},
		{"third", "tiered", full(100), []bound{{"success_high", 0.945, 1}, {"success_important", 0.82, 1}}},
		{"third", "tiered", silent(100), []bound{{"success_high", 0.865, 1}, {"success_important", 0.75, 1}}},
		{"margin", "tiered", full(100), []bound{{"success_high", 0.955, 1}, {"success_important", 0.84, 1}}},
		{"hiccup5", "tiered", full(100), []bound{{"time_to_admit", 0, 4}}},
	})
}

// TestSlowAutoKnownFigures plays throttles that learn what slow is: full backends, and slow ones that are not full.
func TestSlowAutoKnownFigures(t *testing.T) {
	calm := []bound{{"shed_all", 0, 0.001}}
	learning := func(clients int) Options { return Options{Clients: clients, Settings: Settings{SlowAuto: true}} }
	playBounded(t, []bounded{
		{"slow-ten", "tiered", learning(1), calm},
		{"slow-ten", "tiered", learning(23), calm},
		{"slow-ten-random", "tiered", learning(23), calm},
		{"mix-shift", "tiered", learning(1), calm},
		{"mix-shift", "tiered", learning(23), calm},
		{"load-step", "tiered", learning(23), calm},
		{"slow-rare", "tiered", learning(23), calm},
		{"pauses", "tiered", learning(1), calm},
		{"queue2", "tiered", learning(1), []bound{{"goodput", 0.97, 1}, {"success_high", 0.98, 1}, {"success_important", 0.98, 1}}},
		{"queue10", "tiered", learning(1), []bound{{"goodput", 0.98, 1}, {"success_high", 0.95, 1}}},
		{"queue10", "tiered", learning(100), []bound{{"goodput", 0.93, 1}, {"success_high", 0.93, 1}, {"fairness", 0.95, 1}}},
		{"slots", "tiered", learning(1), []bound{{"goodput", 0.95, 1}, {"success_high", 0.99, 1}, {"success_important", 0.98, 1}}},
		{"slots-cold", "tiered", learning(1), []bound{{"goodput", 0.92, 1}, {"success_high", 0.99, 1}}},
		{"slow-ramp-10", "tiered", learning(1), []bound{{"goodput", 0.95, 1}, {"success_high", 0.97, 1}}},
		{"lock", "tiered", learning(1), []bound{{"goodput", 0.98, 1}, {"success_high", 0.98, 1}}},
		{"queue2", "tiered", learning(23), []bound{{"goodput", 0.95, 1}, {"success_high", 0.98, 1}, {"fairness", 0.95, 1}}},
		{"pool5-100", "tiered", learning(23), []bound{{"goodput", 0.97, 1}, {"success_high", 0.97, 1}, {"fairness", 0.9, 1}}},
	})
}

// TestTenantsKnownFigures: the backend is blind, and rejects calls of any tenant. Those are 9 % of what is sent, so a tenant of which
// no call is shed has a success of 91 %. If it says that it is full, they are 2 %.
func TestTenantsKnownFigures(t *testing.T) {
	certain := Options{Certain: true}
	playBounded(t, []bounded{
		{"tenants-greedy", "tiered", Options{}, []bound{{"tenants_below", 0.15, 0.18}}},
		{"tenants-greedy", "fair", Options{}, []bound{{"tenants_below", 0.89, 1}}},
		{"tenants-greedy-local", "fair", Options{}, []bound{{"tenants_below", 0.90, 1}}},
		{"tenants-greedy", "fair", certain, []bound{{"tenants_below", 0.965, 1}}},
		{"tenants-greedy-local", "fair", certain, []bound{{"tenants_below", 0.97, 1}}},
		{"tenants-zipf-local", "tiered", Options{}, []bound{{"tenants_fair", 0, 0.1}}},
		{"tenants-zipf-local", "fair", Options{}, []bound{{"tenants_fair", 0.98, 1}}},
		{"tenants-weights", "fair", Options{}, []bound{{"tenants_worst", 0.95, 1}}},
		{"tenants-weights-local", "fair", Options{}, []bound{{"tenants_worst", 0.95, 1}}},
	})
}

// TestFleetsKnownFigures checks what makes the clients of a fleet differ.
func TestFleetsKnownFigures(t *testing.T) {
	s := steady(4*width, mix(5))
	clients := func(change func(*Scenario)) (Figures, []float64) {
		c := s
		c.Cases = []Case{{Phases: []Phase{s.Cases[0].Phases[0]}}}
		change(&c)
		r := &runner{scenario: &c, policy: new(policy(t, "none")), seed: 1, options: &Options{RejectionCost: -1}}
		c.Cases[0].Clients = 10
		record, err := r.play(t.Context(), &c.Cases[0])
		if err != nil {
			t.Fatal(err)
		}
		var offered []float64
		for _, client := range record.clients {
			offered = append(offered, client.Offered)
		}
		return measure(record, &c.Cases[0]), offered
	}
	_, offered := clients(func(c *Scenario) { c.Cases[0].Phases[0].Active = 0.3 })
	if offered[0] == 0 || offered[2] == 0 || offered[3] > 0 {
		t.Errorf("three active clients: got %v calls", offered)
	}
	_, offered = clients(func(c *Scenario) { c.Unequal = true })
	if rate := offered[9] / offered[0]; rate < 30 || rate > 200 {
		t.Errorf("unequal clients: got %v calls", offered)
	}
	once, _ := clients(func(*Scenario) {})
	retried, _ := clients(func(c *Scenario) { c.Retry = "naive" })
	if once.Sent < 4.5 || once.Sent > 5.5 || retried.Sent < 2*once.Sent || retried.Sent > 3*once.Sent {
		t.Errorf("got %v sent, with retries %v", once.Sent, retried.Sent)
	}
	mixed := func(others string) float64 {
		half := shortened(scenario(t, "over5-half-"+others), 4)
		return play(t, half, policy(t, "tiered"), 1, Options{}).Figures.Goodput
	}
	if none, tiered := mixed("none"), mixed("tiered"); tiered < none+0.1 {
		t.Errorf("goodput with others without a throttle: got %v, with Tiered %v", none, tiered)
	}
}

// TestRetriesKnownFigures holds each rule to what it is for.
func TestRetriesKnownFigures(t *testing.T) {
	fleet := Options{Clients: 40, Capacity: 400}
	playBounded(t, []bounded{
		{"outage", "none+none", fleet, []bound{{"attempts", 1, 1}, {"succeeded", 0, 0}}},
		{"outage", "none+naive", fleet, []bound{{"attempts", 2.9, 3}, {"succeeded", 0, 0.02}}},
		{"outage", "none+a6", fleet, []bound{{"attempts", 1, 1.05}, {"succeeded", 0, 0.02}}},
		{"outage", "none+aws", fleet, []bound{{"attempts", 1, 1.1}, {"succeeded", 0, 0.02}}},
		{"outage", "none+budget", fleet, []bound{{"attempts", 1, 1.1}, {"succeeded", 0, 0.02}}},
		{"errors10", "none+none", fleet, []bound{{"attempts", 1, 1}, {"succeeded", 0.88, 0.92}}},
		{"errors10", "none+naive", fleet, []bound{{"attempts", 1.09, 1.13}, {"succeeded", 0.995, 1}}},
		{"errors10", "none+budget", fleet, []bound{{"attempts", 1.08, 1.13}, {"succeeded", 0.97, 1}}},
		{"healthy", "none+budget", fleet, []bound{{"attempts", 1, 1.02}, {"succeeded", 0.999, 1}}},
	})
}

// TestErrorsKnownFigures plays errors that are not caused by load. A jump of them costs a trial: five seeds give 1 to 8 %.
func TestErrorsKnownFigures(t *testing.T) {
	fleet := Options{Clients: 20, Capacity: 200}
	forgiving := Options{Clients: 20, Capacity: 200, Settings: Settings{Background: 0.2}}
	playBounded(t, []bounded{
		{"errors30", "tiered", fleet, []bound{{"false_shed", 0, 0.12}}},
		{"step30", "tiered", fleet, []bound{{"false_shed", 0, 0.12}}},
		{"onoff30", "tiered", fleet, []bound{{"false_shed", 0, 0.12}}},
		{"only-high", "tiered", fleet, []bound{{"false_shed", 0, 0.12}}},
		{"growth-errors20", "tiered", fleet, []bound{{"false_shed", 0, 0.2}}},
		{"growth-errors20", "tiered", forgiving, []bound{{"false_shed", 0, 0.01}}},
	})
}
