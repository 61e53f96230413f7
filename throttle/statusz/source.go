package statusz

import (
	"time"

	"github.com/spillway-go/spillway/throttle/internal/enum"
)

// Source is something other than a throttle that the page shows, such as a circuit breaker, a token
// bucket or a backoff. Package sources has those of Spillway.
type Source interface {
	// Status returns the present status. The page calls it about once per second while it is open,
	// with no lock held, and never while an earlier call runs. If Status panics or does not return,
	// the page shows that, and everything else as usual. A call that never returns keeps its
	// goroutine forever.
	Status() Status
}

// SourceFunc is a function as a [Source].
type SourceFunc func() Status

// Status calls f.
func (f SourceFunc) Status() Status { return f() }

// Status is a [Source] at one time. The page shows the first 24 figures and the last 10
// transitions.
type Status struct {
	// Kind is what the source is, in one word: "breaker", "bucket", "backoff".
	Kind string
	// Name identifies the source among those of its kind.
	Name string
	// State is the present state, in one word: "closed", "open", "half-open", "waiting".
	State string
	// Level is how good the state is. It selects the colour of the state.
	Level Level
	// Figures are numbers, the most important first.
	Figures []Figure
	// Transitions are the last changes of the state, the newest last.
	Transitions []Transition

	_ struct{} // keyed literals only: fields will be added
}

// Figure is a number with a name. The page shows NaN and infinities as missing.
type Figure struct {
	Name  string  // "tokens left"
	Value float64 // 12.5
	Unit  string  // "s", "%", "/s"; may be empty
}

// Transition is a change of state.
type Transition struct {
	Time time.Time
	From string // may be empty
	To   string
}

// Level is how good a state is. The page shows undefined levels as Bad.
type Level uint8

const (
	// OK is the normal state.
	OK Level = iota
	// Warn is a state to look at, such as half-open.
	Warn
	// Bad means that calls fail or are refused.
	Bad
)

// String returns the word of the level: "ok", "warn" or "bad".
func (l Level) String() string {
	return enum.Name("level", l, "ok warn bad")
}

// MarshalText returns the word of the level, or an error if it has none.
func (l Level) MarshalText() ([]byte, error) { return enum.Marshal(l, OK, Bad) }

// UnmarshalText reads the word of a level, exactly as String writes it. For any other text it
// returns an error that lists the words, and l is unchanged.
func (l *Level) UnmarshalText(text []byte) error { return enum.Unmarshal(l, text, OK, Bad) }

const (
	maxFigures     = 24
	maxTransitions = 10
)
