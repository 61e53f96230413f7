package throttle

import (
	"github.com/spillway-go/spillway/throttle/internal/enum"
	"github.com/spillway-go/spillway/throttle/internal/window"
)

// Policy turns what a throttle remembers into a probability of shedding.
type Policy uint8

const (
	// SRE is the formula of Google's SRE book, extended to several priorities. With a Ratio of 2 it sheds nothing of the highest priority, or
	// of a single one, while the backend serves half of what it gets, whatever the reason; lower ones answer for those above and
	// begin sooner, the lowest of four at about a quarter of rejections. It takes a window or two to trust a recovered backend.
	SRE Policy = iota
	// Tiered shares what the backend has accepted in the last seconds among the priorities, from the top down. It
	// protects high priorities from a backend that does not know them, sheds within a second, and recovers in about ten,
	// plus some for clients of more than a few calls a second of the highest priority.
	//
	// Its price: it takes rejections for overload. With the default Ratio, a backend may reject up to about
	// TargetRejection/(1+2*TargetRejection) of its calls for reasons of its own, 8 % for the default of 10 %. Beyond that it costs
	// the lower priorities dearly, a busy throttle's more than a quiet one's, where SRE sheds none. A higher TargetRejection tolerates
	// more and protects High less: in an overload High still meets about TargetRejection/(1+TargetRejection) of rejections. And with
	// less than a call a second to go by, SRE judges as well. The README of examples/simulate has the figures.
	//
	// A healthy priority is left alone while a higher one fails for a reason of its own, but one with less than a call in a Window gives
	// nothing to judge it by and is taken for a tenth rejected. Beside one of whose calls the backend rejects a share r, about
	// (0.125/r)² of its calls are shed while that one is: 2 % if all are rejected, 3 % at 75 %, 4 % at 60 %. SRE sheds none of them.
	Tiered
)

// String returns the policy's word: "sre" or "tiered".
func (p Policy) String() string {
	return enum.Name("policy", p, "sre tiered")
}

// MarshalText returns the policy's word, and an error if it has none.
func (p Policy) MarshalText() ([]byte, error) { return enum.Marshal(p, SRE, Tiered) }

// UnmarshalText takes the policy's word, to the letter. Any other text is an error that names the words, and changes nothing.
func (p *Policy) UnmarshalText(text []byte) error { return enum.Unmarshal(p, text, SRE, Tiered) }

// verdict is what a policy says about one priority.
type verdict struct {
	probability float64 // of shedding the next call: at least 0, less than 1
	cause       Cause
}

// almostOne is the largest probability: something always gets through.
const almostOne = 1 - 1.0/(1<<53)

// decide fills verdicts with what the throttle's policy says of what the window holds.
func (t *Throttle) decide(r window.Reading, u *Tuning, verdicts []verdict) {
	if t.policy == Tiered {
		tiered(r.Span, r.Recent, u.Ratio, t.target, u.padding(t.span), verdicts)
		return
	}
	sre(r.Span, u.Ratio, u.padding(t.span), verdicts)
}

// owed fills owes with the debts of each priority after what has happened since some moment.
func (t *Throttle) owed(since []window.Counts, k float64, owes []debts) {
	if t.policy == Tiered {
		tieredDebts(since, k, t.target, owes)
		return
	}
	sreDebts(since, k, owes)
}
