package breaker

import "github.com/spillway-go/spillway/throttle/internal/enum"

// State is the state of a circuit.
type State uint8

const (
	// Closed circuits admit all calls. A circuit without results is closed.
	Closed State = iota
	// Open circuits shed all calls until their timeout ends.
	Open
	// HalfOpen circuits admit a few calls, the probes. The results of the probes decide the next
	// state.
	HalfOpen
	// Disabled circuits shed all calls until [Manager.Enable]: they have tripped too often.
	Disabled

	numStates = iota
)

// String returns "closed", "open", "half_open" or "disabled".
func (s State) String() string { return enum.Name("state", s, "closed open half_open disabled") }

// MarshalText returns the state's word, or an error if the value is not a State.
func (s State) MarshalText() ([]byte, error) { return enum.Marshal(s, Closed, Disabled) }

// UnmarshalText sets the state from its word. Any other text is an error and changes nothing.
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

// Reason is why a circuit changed.
type Reason uint8

const (
	// ReasonFailing means that the share of failed calls reached FailureThreshold: the circuit
	// opened.
	ReasonFailing Reason = iota + 1
	// ReasonTimeOver means that the timeout of an open circuit ended: it is half-open.
	ReasonTimeOver
	// ReasonRecovered means that enough probes succeeded: the circuit closed.
	ReasonRecovered
	// ReasonUndecided means that the probes gave no clear result in time: the circuit opened again.
	ReasonUndecided
	// ReasonTooManyTrips means that the circuit was disabled after ConsecutiveFailureThreshold
	// trips.
	ReasonTooManyTrips
	// ReasonForgotten means that the circuit closed without results: it had no calls for
	// Config.Retention, [Manager.Forget] removed it, or it opened in ModeShadow and ModeEnforce
	// applies now.
	ReasonForgotten
	// ReasonByHand means that an operator changed the circuit, for example with
	// [Manager.ForceOpen].
	ReasonByHand
)

// String returns "failing", "time_over", "recovered", "undecided", "too_many_trips", "forgotten" or
// "by_hand", and "" for the zero Reason.
func (r Reason) String() string {
	return enum.Name("reason", r, " failing time_over recovered undecided too_many_trips forgotten by_hand")
}

// MarshalText returns the reason's word, or an error if the value is not a Reason.
func (r Reason) MarshalText() ([]byte, error) { return enum.Marshal(r, 0, ReasonByHand) }

// UnmarshalText sets the reason from its word. Any other text is an error and changes nothing.
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
