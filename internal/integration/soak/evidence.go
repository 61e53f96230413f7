package main

import "fmt"

// evidence is something that trouble must leave behind, or it was none.
type evidence struct {
	example string
	what    string
	name    string // of the counter
	word    string // among its labels
}

// allEvidence is what there must be at the end, of each system in a program.
func allEvidence() []evidence {
	return []evidence{
		{storefront, "shed", "throttle_calls_total", `throttle_decision="shed"`},
		{storefront, "rejected", "throttle_calls_total", `throttle_outcome="rejected"`},
		{webhooks, "opened", "throttle_breaker_transitions_total", `throttle_breaker_state="open"`},
		{webhooks, "closed", "throttle_breaker_transitions_total", `throttle_breaker_state="closed"`},
		{webhooks, "shed", "throttle_breaker_calls_total", `throttle_decision="shed"`},
		{batch, "throttled", "throttle_backoff_calls_total", `throttle_backoff_outcome="throttled"`},
	}
}

// evidenceOf returns how much of everything an example has to show.
func evidenceOf(example string, e exposition) []figure {
	var figures []figure
	for _, proof := range allEvidence() {
		if proof.example == example {
			figures = append(figures, figure{proof.what, e.total(proof.name, proof.word)})
		}
	}
	return figures
}

// figure is a number with its name.
type figure struct {
	name  string
	value float64
}

// unproved returns a complaint for whatever an example has nothing of.
func unproved(figures []figure) []string {
	var complaints []string
	for _, f := range figures {
		if f.value <= 0 {
			complaints = append(complaints, fmt.Sprintf("nothing is proved: %s is %v", f.name, f.value))
		}
	}
	return complaints
}
