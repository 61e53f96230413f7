package throttle

import (
	"iter"

	"github.com/spillway-go/spillway/throttle/internal/decision"
	"github.com/spillway-go/spillway/throttle/internal/enum"
)

// Cause is why the throttle shed a call. Usually it is the priority whose rejections made it shed: the
// call's own, or higher ones. It is [CauseOwn] if the window holds no rejections any more.
type Cause uint8

const (
	// CauseOwn means that mostly calls of the same priority were rejected.
	CauseOwn Cause = iota
	// CauseAbove means that mostly calls of higher priorities were rejected, which share the
	// backend.
	CauseAbove
	// CauseLimit means that calls are late, and that as many are open as the backend accepts in
	// Config.Slow.
	CauseLimit
	// CauseProcessor means that the requests of this process wait for a processor, see
	// [Config.ProcessorWait].
	CauseProcessor
	// CauseTold means that the backend says that it sheds such calls, see [Throttle.ReceiveLoad].
	CauseTold

	numCauses = iota
)

// Causes yields every cause.
func Causes() iter.Seq[Cause] { return enum.All(CauseOwn, CauseTold) }

// String returns "own", "above", "limit", "processor" or "told".
func (c Cause) String() string {
	return enum.Name("cause", c, "own above limit processor told")
}

// MarshalText returns the word of the cause, or an error if the cause is not defined.
func (c Cause) MarshalText() ([]byte, error) { return enum.Marshal(c, CauseOwn, CauseTold) }

// UnmarshalText reads the word of a cause. Any other text is an error, and does not change c.
func (c *Cause) UnmarshalText(text []byte) error {
	return enum.Unmarshal(c, text, CauseOwn, CauseTold)
}

func causeOf(d decision.Packed) Cause {
	switch {
	case !d.Has(causedAbove | causedLimit | causedProcessor | causedTold):
		return CauseOwn
	case d.Has(causedProcessor):
		return CauseProcessor
	case d.Has(causedLimit):
		return CauseLimit
	case d.Has(causedTold):
		return CauseTold
	}
	return CauseAbove
}
