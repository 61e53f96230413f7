package breaker

import "github.com/spillway-go/spillway/throttle/internal/enum"

// State is what a circuit is in.
type State uint8

const (
	// Closed circuits let calls through. A circuit that nobody knows anything about is closed.
	Closed State = iota
	// Open circuits refuse calls until their time is over.
	Open
	// HalfOpen circuits let a few calls through, the probes, whose results decide what comes next.
	HalfOpen
	// Disabled circuits refuse calls until somebody enables them: they have tripped too often.
	Disabled

	// NumStates is the number of states.
	NumStates = iota
)

// String returns the state's word: "closed", "open", "half_open" or "disabled".
func (s State) String() string {
	return enum.Name("state", s, "closed open half_open disabled")
}

// MarshalText returns the state's word, and an error if it has none.
func (s State) MarshalText() ([]byte, error) { return enum.Marshal(s, Closed, Disabled) }

// UnmarshalText takes the state's word, to the letter. Any other text is an error that names the words, and changes nothing.
func (s *State) UnmarshalText(text []byte) error { return enum.Unmarshal(s, text, Closed, Disabled) }

// Severity orders states for a display: Closed is 0, HalfOpen 1, Open 2 and Disabled 3.
func (s State) Severity() int {
	switch s {
	case HalfOpen:
		return 1
	case Open:
		return 2
	case Disabled:
		return 3
	}
	return 0
}

// ParseState returns the state with the given word. Any other text is an error that lists the words.
func ParseState(word string) (State, error) {
	var s State
	err := s.UnmarshalText([]byte(word))
	return s, err
}

// Reason says why a circuit changed.
type Reason uint8

const (
	// Failing is the reason of a circuit that opens: too large a share of its calls failed.
	ReasonFailing Reason = iota + 1
	// TimeOver is the reason of an open circuit that becomes half-open.
	ReasonTimeOver
	// Recovered is the reason of a circuit that closes: enough of its probes succeeded.
	ReasonRecovered
	// Undecided is the reason of a half-open circuit that opens again, because its probes gave no clear answer in time.
	ReasonUndecided
	// TooManyTrips is the reason of a circuit that is disabled.
	ReasonTooManyTrips
	// Forgotten is the reason of a circuit that closes because nobody has called it for Config.Retention.
	ReasonForgotten
	// ByHand is the reason of a change that somebody asked for.
	ReasonByHand
)

// String returns the reason's word: "failing", "time_over", "recovered", "undecided", "too_many_trips",
// "forgotten" or "by_hand".
func (r Reason) String() string {
	return enum.Name("reason", r, " failing time_over recovered undecided too_many_trips forgotten by_hand")
}

// MarshalText returns the reason's word, which is empty for the zero Reason, and an error if it has none.
func (r Reason) MarshalText() ([]byte, error) { return enum.Marshal(r, 0, ReasonByHand) }

// UnmarshalText takes the reason's word, to the letter. Any other text is an error that names the words, and changes nothing.
func (r *Reason) UnmarshalText(text []byte) error { return enum.Unmarshal(r, text, 0, ReasonByHand) }

// StalePolicy is what a manager does if it could not read the store for longer than
// Config.MaxStale.
type StalePolicy uint8

const (
	// FailOpen lets all calls through, as if there were no breaker.
	FailOpen StalePolicy = iota
	// KeepLast applies the last known states. A disabled circuit stays disabled. An open circuit
	// stays open until its timeout ends; then it lets all calls through, because probes cannot be
	// counted without the store.
	KeepLast
	// FailClosed sheds all calls with [ErrStale], also before the store was read for the first
	// time.
	FailClosed

	numStalePolicies = iota
)

// String returns "fail_open", "keep_last" or "fail_closed".
func (p StalePolicy) String() string {
	return enum.Name("stale_policy", p, "fail_open keep_last fail_closed")
}

// MarshalText returns the policy's word, or an error if the value is not a StalePolicy.
func (p StalePolicy) MarshalText() ([]byte, error) { return enum.Marshal(p, FailOpen, FailClosed) }

// UnmarshalText sets the policy from its word. Any other text is an error and changes nothing.
func (p *StalePolicy) UnmarshalText(text []byte) error {
	return enum.Unmarshal(p, text, FailOpen, FailClosed)
}
