package throttle

import (
	"github.com/spillway-go/spillway/throttle/internal/enum"
	"github.com/spillway-go/spillway/throttle/internal/window"
)

// Policy computes the probability of shedding from the window.
type Policy uint8

const (
	// SRE is the formula of Google's SRE book, extended to several priorities. With a Ratio of 2 it
	// sheds no call of the highest priority, or of a single one, while the backend accepts half of
	// its calls or more. Lower priorities are also charged for higher ones and are shed earlier:
	// the lowest of four from about 25 % of rejections. After a recovery it sheds for one or two
	// windows more.
	SRE Policy = iota
	// Tiered shares the calls that the backend accepted in the last seconds among the priorities,
	// from the highest down. It protects high priorities from a backend that does not know them. It
	// sheds within a second, and recovers in about ten seconds. Clients with more than a few High
	// calls per second need somewhat longer.
	//
	// Tiered treats every rejection as overload. If a backend rejects calls for another reason,
	// Tiered tolerates about 8 % of rejections with the default settings. Beyond that it sheds many
	// calls of lower priorities, more in a busy throttle than in a quiet one; SRE sheds none of them
	// at such a rate. In general the tolerated share is TargetRejection/(1+2*TargetRejection). A
	// higher TargetRejection tolerates more and protects High less: in an overload about
	// TargetRejection/(1+TargetRejection) of High calls are still rejected. With less than one call
	// per second, SRE decides as well as Tiered. The README of examples/simulate has the figures.
	//
	// A healthy priority keeps its calls while a higher priority fails for a reason of its own, except
	// a priority with less than one call per Window: Tiered sheds 2 to 4 % of its calls meanwhile.
	Tiered
)

// String returns "sre" or "tiered".
func (p Policy) String() string {
	return enum.Name("policy", p, "sre tiered")
}

// MarshalText returns the word of the policy, or an error if the policy is not defined.
func (p Policy) MarshalText() ([]byte, error) { return enum.Marshal(p, SRE, Tiered) }

// UnmarshalText reads the word of a policy. For any other text it returns an error that lists the
// words, and does not change p.
func (p *Policy) UnmarshalText(text []byte) error { return enum.Unmarshal(p, text, SRE, Tiered) }

// estimate is the result of a policy for one priority.
type estimate struct {
	probability float64 // of shedding the next call: from 0 to decision.Largest
	cause       Cause
}

// estimate computes the estimates of the policy for the window.
func (t *Throttle) estimate(r window.Reading, u *Tuning, estimates []estimate) {
	if t.policy == Tiered {
		tiered(r.Span, r.Recent, u.Ratio, t.target, u.padding(t.span), estimates)
		return
	}
	sre(r.Span, u.Ratio, u.padding(t.span), estimates)
}
