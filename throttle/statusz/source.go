package statusz

import (
	"time"

	"github.com/spillway-go/spillway/throttle/internal/enum"
)

// Source is something other than a throttle that the page shows: a circuit breaker, a token bucket, a backoff.
type Source interface {
	// Status tells how the source is now. The page asks about once per second while somebody looks, with no lock held and not again
	// before it has an answer. A Status that panics or does not return is shown as such, and the rest of the page goes on; but
	// one that never returns keeps its goroutine for good.
	Status() Status
}

// SourceFunc is a function as a [Source].
type SourceFunc func() Status

// Status calls f.
func (f SourceFunc) Status() Status { return f() }

// Status is how a [Source] is at one instant. Of figures the page shows the first 24, of transitions the last 10.
type Status struct {
	// Kind is what the source is, in a word: "breaker", "bucket", "backoff".
	Kind string
	// Name is which one it is.
	Name string
	// State is how it is, in a word: "closed", "open", "half-open", "waiting".
	State string
	// Level says whether that is good. It colours the state, which says the same in words.
	Level Level
	// Figures are what is worth a number, the most important first.
	Figures []Figure
	// Transitions are the last changes of state, the newest last.
	Transitions []Transition

	_ struct{} // keyed literals only: fields will be added
}

// Figure is a number with a name. One that is not finite is shown as missing.
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

// Level says whether a state is good. The page shows any but these as Bad.
type Level uint8

const (
	// OK is how it should be.
	OK Level = iota
	// Warn is worth a look: half-open, say.
	Warn
	// Bad means that calls are failing or refused because of it.
	Bad
)

// String returns the level's word: "ok", "warn" or "bad".
func (l Level) String() string {
	return enum.Name("level", l, "ok warn bad")
}

// MarshalText returns the level's word, and an error if it has none.
func (l Level) MarshalText() ([]byte, error) { return enum.Marshal(l, OK, Bad) }

// UnmarshalText takes the level's word, to the letter. Any other text is an error that names the words, and changes nothing.
func (l *Level) UnmarshalText(text []byte) error { return enum.Unmarshal(l, text, OK, Bad) }

const (
	maxFigures     = 24
	maxTransitions = 10
)
