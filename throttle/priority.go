package throttle

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spillway-go/spillway/throttle/internal/enum"
)

// Priority is the importance of a call. Lower values are more important. The zero value is [High].
// On wires and in labels priorities are words, so that a missing priority is never read as High.
type Priority int8

const (
	// High is for calls that users cannot do without.
	High Priority = iota
	// Important is for calls that matter but are not critical.
	Important
	// Medium is for calls whose failure users hardly notice.
	Medium
	// Low is for calls that can be repeated later or omitted.
	Low
)

// StandardPriorities is the number of priorities with names: High, Important, Medium and Low.
const StandardPriorities = 4

// MaxPriorities is the largest value of [Config].Priorities.
const MaxPriorities = 16

// String returns "high", "important", "medium", "low", or "p4" to "p15".
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

// MarshalText returns the word of the priority, or an error if it is out of range.
func (p Priority) MarshalText() ([]byte, error) { return enum.Marshal(p, High, MaxPriorities-1) }

// UnmarshalText reads the word of a priority. Any other text is an error, and does not change p.
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
	if !found || err != nil || n < StandardPriorities || n >= MaxPriorities || digits[0] == '0' {
		return 0, false
	}
	return Priority(n), true
}

// callContext has the priority and the tenant of the calls in a context. Both are in one value, because each
// call looks for it.
type callContext struct {
	context.Context

	tenant      string
	priority    Priority
	prioritized bool
}

type callKey struct{}

func (c *callContext) Value(key any) any {
	if _, ok := key.(callKey); ok { // == would call the runtime
		return c
	}
	return c.Context.Value(key)
}

// contextOf returns the nearest callContext of a context, or nil.
func contextOf(ctx context.Context) *callContext {
	c, ok := ctx.(*callContext)
	if !ok {
		c, _ = ctx.Value(callKey{}).(*callContext)
	}
	return c
}

// WithPriority returns a copy of ctx with priority p. It overrides the priority argument of
// [Throttle.Do] and [Throttle.Admit].
func WithPriority(ctx context.Context, p Priority) context.Context {
	c := &callContext{Context: ctx, priority: p, prioritized: true}
	if outer := contextOf(ctx); outer != nil {
		c.tenant = outer.tenant
	}
	return c
}

// PriorityFromContext returns the priority of ctx, or def if ctx has none.
func PriorityFromContext(ctx context.Context, def Priority) Priority {
	if c := contextOf(ctx); c != nil {
		return c.priorityOr(def)
	}
	return def
}

func (c *callContext) priorityOr(def Priority) Priority {
	if c.prioritized {
		return c.priority
	}
	return def
}

// ClampPriority converts a priority that is out of range to the lowest one, n-1, so that a mistake
// never promotes a call. It is the default of Config.InvalidPriority.
func ClampPriority(p Priority, n int) (Priority, error) {
	if p < 0 || int(p) >= n {
		return Priority(n - 1), nil
	}
	return p, nil
}

// RejectPriority returns an error for a priority that is out of range. The call is not made and not
// counted.
func RejectPriority(p Priority, n int) (Priority, error) {
	if p < 0 || int(p) >= n {
		return p, fmt.Errorf("throttle: priority %d is out of range: want 0 (%v) to %d (%v)", int8(p), High, n-1, Priority(n-1))
	}
	return p, nil
}

// PanicPriority panics for a priority that is out of range, for programs that treat it as a bug.
func PanicPriority(p Priority, n int) (Priority, error) {
	if _, err := RejectPriority(p, n); err != nil {
		panic(err.Error())
	}
	return p, nil
}
