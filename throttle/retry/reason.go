package retry

import "github.com/spillway-go/spillway/throttle/internal/enum"

// Reason is why a call that failed was not retried.
type Reason uint8

const (
	// ReasonBudget means that the budget was used up.
	ReasonBudget Reason = iota
	// ReasonShed means that the throttle shed the attempt, or something inside it was shed.
	ReasonShed
	// ReasonPushback means that the backend asked for no retry, or for a delay longer than
	// Delay.Longest.
	ReasonPushback
	// ReasonDeadline means that the deadline of the call came before the retry could end.
	ReasonDeadline
	// ReasonAttempts means that the call had all of its attempts.
	ReasonAttempts
	// ReasonCanceled means that the caller cancelled the call while it waited for its retry.
	ReasonCanceled
	// ReasonOnce means that the call must not be made twice: its method, its body, or its context
	// does not allow it.
	ReasonOnce
	// ReasonOff means that the Mode is [throttle.ModeOff].
	ReasonOff

	numReasons = iota
)

// String returns "budget", "shed", "pushback", "deadline", "attempts", "canceled", "once" or "off".
func (r Reason) String() string {
	return enum.Name("reason", r, "budget shed pushback deadline attempts canceled once off")
}

// MarshalText returns the word of the reason, or an error if the reason is not defined.
func (r Reason) MarshalText() ([]byte, error) { return enum.Marshal(r, ReasonBudget, ReasonOff) }

// UnmarshalText reads the word of a reason. Any other text is an error, and does not change r.
func (r *Reason) UnmarshalText(text []byte) error {
	return enum.Unmarshal(r, text, ReasonBudget, ReasonOff)
}
