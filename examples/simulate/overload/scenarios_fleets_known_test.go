//go:build !race

package overload

import "testing"

// TestFleetsKnownFigures checks what makes the clients of a fleet differ.
func TestFleetsKnownFigures(t *testing.T) {
	s := steady(4*width, mix(5))
	clients := func(change func(*Scenario)) (Figures, []int) {
		c := s
		c.Cases = []Case{{Phases: []Phase{s.Cases[0].Phases[0]}}}
		change(&c)
		r := &runner{scenario: &c, policy: new(policy(t, "none")), seed: 1, options: &Options{RejectionCost: -1}}
		c.Cases[0].Clients = 10
		record, err := r.play(t.Context(), &c.Cases[0])
		if err != nil {
			t.Fatal(err)
		}
		var offered []int
		for _, client := range record.clients {
			offered = append(offered, client.offered)
		}
		return measure(record, &c.Cases[0]), offered
	}
	_, offered := clients(func(c *Scenario) { c.Cases[0].Phases[0].Active = 0.3 })
	if offered[0] == 0 || offered[2] == 0 || offered[3] > 0 {
		t.Errorf("three active clients: got %v calls", offered)
	}
	_, offered = clients(func(c *Scenario) { c.Unequal = true })
	if rate := float64(offered[9]) / float64(offered[0]); rate < 30 || rate > 200 {
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

// TestErrorsKnownFigures plays errors that are not caused by load. A jump of them costs a trial.
func TestErrorsKnownFigures(t *testing.T) {
	for _, name := range []string{"errors30", "step30", "onoff30", "only-high"} {
		s := scenario(t, name)
		f := play(t, s, policy(t, "tiered"), 1, Options{Clients: 20, Capacity: 200}).Figures
		if f.FalseShed > 0.12 { // with one seed; five give 1 to 8 %
			t.Errorf("%s: got %.2f %% shed", name, 100*f.FalseShed)
		}
	}
	s := scenario(t, "growth-errors20")
	automatic := play(t, s, policy(t, "tiered"), 1, Options{Clients: 20, Capacity: 200}).Figures.FalseShed
	forgiven := play(t, s, policy(t, "tiered"), 1, Options{Clients: 20, Capacity: 200, Settings: Settings{Background: 0.2}}).Figures.FalseShed
	if automatic > 0.2 || forgiven > 0.01 {
		t.Errorf("errors with growth: got %.3f shed, with the background %.3f", automatic, forgiven)
	}
}
