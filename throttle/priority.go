package throttle

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spillway-go/spillway/throttle/internal/enum"
)

// Priority says how much a call matters. Lower values matter more. The zero value is [High]; on wires and labels
// priorities are words, so that the absence of one is never taken for High.
type Priority int8

const (
	// High is for calls without which the whole is of no use.
	High Priority = iota
	// Important is for calls that matter, but are not critical.
	Important
	// Medium is for calls whose failure would not be felt much.
	Medium
	// Low is for calls that can be repeated when there is room, or left out.
	Low
)

// StandardPriorities is the number of priorities that have names: High, Important, Medium and Low.
const StandardPriorities = 4

// MaxPriorities is the largest value of [Config].Priorities.
const MaxPriorities = 16

// String returns the priority's word: "high", "important", "medium", "low", then "p4" to "p15".
func (p Priority) String() string {
	switch p {
	case High:
		return "high"
	case Important:
		return "important"
	case Medium:
		return "medium"
	case Low:
		return "low"
	}
	if p < 0 || p >= MaxPriorities {
		return enum.Unknown("priority", p)
	}
	return "p" + strconv.Itoa(int(p))
}

// MarshalText returns the priority's word, and an error if it has none.
func (p Priority) MarshalText() ([]byte, error) { return enum.Marshal(p, High, MaxPriorities-1) }

// UnmarshalText takes the priority's word, to the letter. Any other text is an error that names the words, and changes nothing.
func (p *Priority) UnmarshalText(text []byte) error {
	return enum.Unmarshal(p, text, High, MaxPriorities-1)
}

// ParsePriority returns the priority of a word: "high", "important", "medium", "low", or "p4" to
// "p15". Words are compared exactly. For any other text it returns an error and the lowest priority,
// so that a caller that ignores the error promotes no call.
func ParsePriority(word string) (Priority, error) {
	if p, ok := priorityOf(word); ok {
		return p, nil
	}
	return MaxPriorities - 1, fmt.Errorf("throttle: priority is %.100q: want high, important, medium, low, or p4 to p15", word)
}

// priorityOf is ParsePriority without the cost of an error.
func priorityOf(word string) (p Priority, ok bool) {
	for p := High; p <= Low; p++ {
		if word == p.String() {
			return p, true
		}
	}
	digits, found := strings.CutPrefix(word, "p")
	n, err := strconv.ParseUint(digits, 10, 8)
	if !found || err != nil || n < StandardPriorities || n >= MaxPriorities || digits[0] == '0' || digits[0] == '+' {
		return 0, false
	}
	return Priority(n), true
}

// priorityKey is where a context keeps its priority.
type priorityKey struct{}

// WithPriority returns a copy of ctx whose calls have priority p. It overrides the priority given to [Throttle.Do]
// and [Throttle.Admit].
func WithPriority(ctx context.Context, p Priority) context.Context {
	return context.WithValue(ctx, priorityKey{}, p)
}

// PriorityFromContext returns the priority that ctx carries, or def if it carries none.
func PriorityFromContext(ctx context.Context, def Priority) Priority {
	if p, ok := ctx.Value(priorityKey{}).(Priority); ok {
		return p
	}
	return def
}

// ClampPriority gives a priority out of range the lowest one, n-1: whoever gets his priority wrong is never promoted.
// It is the default of Config.InvalidPriority.
func ClampPriority(p Priority, n int) (Priority, error) {
	if p < 0 || int(p) >= n {
		return Priority(n - 1), nil
	}
	return p, nil
}

// RejectPriority refuses a priority out of range with an error that names the range. The call is neither made nor counted.
func RejectPriority(p Priority, n int) (Priority, error) {
	if p < 0 || int(p) >= n {
		return p, fmt.Errorf("throttle: priority %d is out of range: want 0 (%v) to %d (%v)", int8(p), High, n-1, Priority(n-1))
	}
	return p, nil
}

// PanicPriority panics over a priority out of range, for programs that hold it for a programmer's mistake.
func PanicPriority(p Priority, n int) (Priority, error) {
	if _, err := RejectPriority(p, n); err != nil {
		panic(err.Error())
	}
	return p, nil
}
