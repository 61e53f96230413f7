package throttle

import (
	"github.com/spillway-go/spillway/throttle/internal/enum"
	"github.com/spillway-go/spillway/throttle/internal/window"
)

// Policy computes the probability of shedding from the window.
type Policy uint8

const (
	// Tiered takes rejections for overload if they come with more calls of this throttle, if there are
	// more than 30 % of errors can explain, if SRE would shed, or if the backend says that it is full
	// ([MarkOverloaded]). It is in alert then, see [AlertReason].
	//
	// In alert, it shares the calls that the backend accepted in the last seconds among the
	// priorities, from the highest down. Because few calls are noise, three to six windows of the alert count
	// too, unless the last window differs by more than chance. It protects high priorities from a backend that
	// does not know them. It sheds within a second. With the default Ratio it recovers in about ten seconds; a client
	// with a few answers a second takes up to thirty. With 1.5 it can take a minute and a half. Rejections that were
	// there before the alert are forgiven. Otherwise the throttle is quiet: it sheds like SRE with a window of 10 s, and
	// errors of 30 % shed next to nothing.
	//
	// A jump of rejections that may be errors or load begins a trial: fewer calls are sent for seconds. If as
	// many are rejected as before, they are errors, and forgiven. If nothing worked and then all works
	// again, nothing more is shed. Config.Background says how many errors are usual. The highest priority
	// has the formula of SRE. In an alert it is limited to what the backend accepts if it alone has more
	// than 1.25 times as many calls.
	//
	// A healthy priority keeps 99 % of its calls while a higher priority fails for a reason of its own: a
	// trial sheds some. Of a priority with less than one call per Window it keeps 96 to 98 %.
	Tiered Policy = iota
	// SRE is the formula of Google's SRE book, extended to several priorities. With a Ratio of 2 it
	// sheds no call of the highest priority, or of a single one, while the backend accepts half of
	// its calls or more. Lower priorities are also charged for higher ones and are shed earlier:
	// the lowest of four from about 25 % of rejections. After a recovery it sheds for one or two
	// windows more. After an outage the time grows with the calls: three windows with 200 calls a
	// second and a MinimumRate of 1, four with 1000.
	SRE
)

// String returns "tiered" or "sre".
func (p Policy) String() string {
	return enum.Name("policy", p, "tiered sre")
}

// MarshalText returns the word of the policy, or an error if the policy is not defined.
func (p Policy) MarshalText() ([]byte, error) { return enum.Marshal(p, Tiered, SRE) }

// UnmarshalText reads the word of a policy. Any other text is an error, and does not change p.
func (p *Policy) UnmarshalText(text []byte) error { return enum.Unmarshal(p, text, Tiered, SRE) }

type estimate struct {
	probability float64 // of shedding the next call: from 0 to decision.Largest
	cause       Cause
}

func (t *Throttle) estimate(r window.Reading, u *Tuning, s *stance, estimates []estimate) {
	if t.policy == Tiered {
		terms := terms{k: u.Ratio, target: t.target, padding: u.padding(t.span), queue: t.queue(), spares: t.sparesTenants()}
		tiered(&r, s, &terms, estimates)
		return
	}
	sre(r.Span, u.Ratio, u.padding(t.span), estimates)
}
