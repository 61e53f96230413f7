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
	// Tiered treats rejections as overload. With the default Ratio, a backend may reject up to about
	// TargetRejection/(1+2*TargetRejection) of its calls for other reasons: 8 % with the default of
	// 10 %. Beyond that, Tiered sheds many calls of lower priorities, more for a busy throttle than
	// for a quiet one; SRE sheds none of them. A higher TargetRejection tolerates more and protects
	// High less: in an overload about TargetRejection/(1+TargetRejection) of High calls are still
	// rejected. With less than one call per second, SRE decides as well as Tiered. The README of
	// examples/simulate has the figures.
	//
	// A healthy priority keeps its calls while a higher priority fails for a reason of its own. The
	// exception is a priority with less than one call per Window, which counts as 10 % rejected. If
	// the backend rejects a share r of a higher priority, Tiered sheds about (0.125/r)² of such calls:
	// 2 % if all are rejected, 3 % at 75 %, 4 % at 60 %. SRE sheds none of them.
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
	probability float64 // of shedding the next call: at least 0, less than 1
	cause       Cause
}

// almostOne is the largest probability: some calls are always admitted.
const almostOne = 1 - 1.0/(1<<53)

// decide computes the estimates of the policy for the window.
func (t *Throttle) decide(r window.Reading, u *Tuning, estimates []estimate) {
	if t.policy == Tiered {
		tiered(r.Span, r.Recent, u.Ratio, t.target, u.padding(t.span), estimates)
		return
	}
	sre(r.Span, u.Ratio, u.padding(t.span), estimates)
}

// owed computes the debts of each priority since some moment.
func (t *Throttle) owed(since []window.Counts, k float64, owes []debts) {
	if t.policy == Tiered {
		tieredDebts(since, k, t.target, owes)
		return
	}
	sreDebts(since, k, owes)
}
