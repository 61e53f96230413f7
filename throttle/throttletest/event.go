package throttletest

import (
	"fmt"

	"github.com/spillway-go/spillway/throttle"
)

// Kind is the kind of a moment that a throttle tells of: one for each field of throttle.Hooks.
type Kind uint8

const (
	// KindCreated is the making of a throttle.
	KindCreated Kind = iota
	// KindClosed is its closing.
	KindClosed
	// KindShed is a call that was shed, or would have been but for Shadow.
	KindShed
	// KindStarted is a call that was admitted.
	KindStarted
	// KindFinished is the end of an admitted call.
	KindFinished
	// KindFellBack is the end of a fallback.
	KindFellBack

	// NumKinds is the number of kinds.
	NumKinds = iota
)

// String returns the kind's word: "created", "closed", "shed", "started", "finished" or "fell back".
func (k Kind) String() string {
	words := [NumKinds]string{"created", "closed", "shed", "started", "finished", "fell back"}
	if int(k) < len(words) {
		return words[k]
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

// Event is one moment that a throttle told of. Of the fields Shed, Started, Finished and FellBack, the one that Kind names is
// set; of a throttle created or closed, Throttle says all.
type Event struct {
	Kind     Kind
	Throttle *throttle.Throttle
	Shed     throttle.ShedEvent
	Started  throttle.StartEvent
	Finished throttle.FinishEvent
	FellBack throttle.FallbackEvent
}
