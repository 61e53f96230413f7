package breaker

import (
	"context"
	"time"
)

// PollFunc counts how the calls of every circuit ended lately. The leader asks it once per Config.SampleRate. It may leave out
// circuits without calls. It must return when its context ends; a poll that does not is left behind, and no other one begins before it
// has returned.
type PollFunc func(ctx context.Context, q PollQuery) (map[Key]PollResult, error)

// PollQuery says what to count. Spans reach back from now, by the clock of whoever counts: no clock is compared with another's.
type PollQuery struct {
	// Window is how far back to count.
	Window time.Duration
	// Since is how far back to count for circuits that changed within the window. What happened before is of no account.
	Since map[Key]time.Duration
	// MinFailures is the fewest failures that matter for circuits that are not in Since: those with fewer may be left out.
	MinFailures float64
}

// PollResult is how the calls of one circuit ended. The counts are floating point because some sources know no others, such as
// PromQL's increase.
type PollResult struct {
	Failures  float64
	Successes float64
	// Reporters is how many agents saw a failure, for Config.MinReporters; 0 means that nobody knows.
	Reporters int
}
