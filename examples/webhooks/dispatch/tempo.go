package dispatch

import "time"

// Tempo is how fast everything goes.
type Tempo struct {
	SampleRate     time.Duration
	BreakerTimeout time.Duration
	Window         time.Duration
	Refresh        time.Duration
	Timeout        time.Duration // of one attempt
	Retry          time.Duration // after a failed attempt
	Flush          time.Duration // how often results are written
}

const (
	// What a timeout must not fall below, or a busy machine would seem to be a dead endpoint; and what nobody waits for longer.
	shortestTimeout, longestTimeout = 150 * time.Millisecond, time.Second

	shortestWindow = time.Second
)

// NewTempo returns the tempo of a sample rate, where each busy endpoint gets a delivery every so often. A window must hold as many results as
// it takes to open a circuit, even when no attempt is made twice because all workers wait for endpoints that hang.
func NewTempo(sampleRate, every time.Duration) Tempo {
	return Tempo{
		SampleRate:     sampleRate,
		BreakerTimeout: 10 * sampleRate,
		Window:         max(3*sampleRate, minimumRequests*every, shortestWindow),
		Refresh:        max(sampleRate/4, 10*time.Millisecond),
		Timeout:        min(max(sampleRate*5/8, shortestTimeout), longestTimeout),
		Retry:          sampleRate / 4,
		Flush:          min(max(sampleRate/8, 20*time.Millisecond), time.Second),
	}
}

// Trips is how many trips in a row disable an endpoint.
const Trips = 3

// Promise is how soon a dead endpoint is disabled: within a tenth more than so many times the time that a circuit is open and that a round
// takes.
func (t Tempo) Promise() time.Duration {
	return Trips * (t.BreakerTimeout + t.SampleRate) * 11 / 10
}

// Takeover is how soon another agent leads when the leader dies.
func (t Tempo) Takeover() time.Duration { return 2 * t.SampleRate }
