package monitoring

import (
	"fmt"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/spillway-go/spillway/otelthrottle"
	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/backoff"
	"github.com/spillway-go/spillway/throttle/breaker"
)

// A set is a set of words.
type set map[string]bool

func setOf(words ...string) set {
	s := set{}
	for _, w := range words {
		s[w] = true
	}
	return s
}

// closedWords returns the labels whose values the library chooses, and these values, as it says them.
func closedWords() map[string]set {
	words := map[string]set{
		"throttle_decision": setOf(otelthrottle.DecisionAdmitted, otelthrottle.DecisionShed, otelthrottle.DecisionShadowShed),
		"throttle_priority": {}, "throttle_outcome": {}, "throttle_cause": {}, "error_type": {},
		"throttle_breaker_state": {}, "throttle_breaker_failure": {},
		"throttle_bucket_result":     setOf(otelthrottle.ResultGranted, otelthrottle.ResultDenied, otelthrottle.ResultFailedOpen, otelthrottle.ResultFailedClosed),
		"throttle_backoff_direction": setOf(otelthrottle.DirectionUp, otelthrottle.DirectionDown),
		"throttle_backoff_outcome":   setOf(backoff.Success.String(), backoff.Throttled.String(), backoff.Ignored.String()),
		"alertstate":                 setOf("firing", "pending"),
		"severity":                   setOf("critical", "warning", "info"),
	}
	for p := range throttle.Priority(throttle.StandardPriorities) {
		words["throttle_priority"][p.String()] = true
	}
	for o := range throttle.Outcome(throttle.NumOutcomes) {
		words["throttle_outcome"][o.String()] = true
	}
	for c := range throttle.Cause(throttle.NumCauses) {
		words["throttle_cause"][c.String()] = true
	}
	for f := throttle.FaultNone + 1; int(f) < throttle.NumFaults; f++ {
		words["error_type"][f.String()] = true
	}
	for s := range breaker.State(breaker.NumStates) {
		words["throttle_breaker_state"][s.String()] = true
	}
	for f := range breaker.Failure(breaker.NumFailures) {
		words["throttle_breaker_failure"][f.String()] = true
	}
	delete(words["error_type"], throttle.FaultOther.String()) // which is written as the conventions want it
	words["error_type"]["_OTHER"] = true
	return words
}

// checkWords returns what a matcher asks for that nobody ever says. A label that is absent is the empty word.
func checkWords(m *labels.Matcher) []string {
	known, closed := closedWords()[m.Name]
	if !closed {
		return nil
	}
	wanted := []string{m.Value}
	if m.Type == labels.MatchRegexp || m.Type == labels.MatchNotRegexp {
		wanted = m.SetMatches()
	}
	var wrong []string
	for _, word := range wanted {
		if word != "" && !known[word] {
			wrong = append(wrong, fmt.Sprintf("%s: %s is never %q", m, m.Name, word))
		}
	}
	if len(wanted) == 0 && !matchesAny(m, known) {
		wrong = append(wrong, fmt.Sprintf("%s: no word of %s is like that", m, m.Name))
	}
	return wrong
}

// matchesAny reports whether the pattern of a matcher, wanted or not, is that of some word.
func matchesAny(m *labels.Matcher, known set) bool {
	for word := range known {
		if m.Matches(word) == (m.Type == labels.MatchRegexp) {
			return true
		}
	}
	return false
}
