package dispatch

import (
	"slices"
	"sync"
	"time"
)

// Figures is what was measured within some time.
type Figures struct {
	Delivered int           // deliveries that were made
	Failed    int           // attempts that failed
	GivenUp   int           // deliveries after too many attempts
	Shed      int           // attempts that a breaker saved
	WorkSaved time.Duration // that a worker would have needed for them, as the last failure did
	// Waited is how long deliveries to all other endpoints were due before a worker had time for them, and Answered how long they took.
	Waited, Answered []time.Duration
}

// attempted adds an attempt.
func (f *Figures) attempted(d Delivery, waited, took time.Duration, err error) {
	if err != nil {
		f.Failed++
	} else {
		f.Delivered++
	}
	if !d.Endpoint.Doomed {
		f.Waited = append(f.Waited, waited)
		f.Answered = append(f.Answered, took)
	}
}

// shed adds an attempt that a breaker saved.
func (f *Figures) shed(d Delivery) {
	f.Shed++
	f.WorkSaved += d.Endpoint.FailureTook()
}

// Add adds other figures.
func (f *Figures) Add(o Figures) {
	f.Delivered += o.Delivered
	f.Failed += o.Failed
	f.GivenUp += o.GivenUp
	f.Shed += o.Shed
	f.WorkSaved += o.WorkSaved
	f.Waited = append(f.Waited, o.Waited...)
	f.Answered = append(f.Answered, o.Answered...)
}

// Quantile returns what a share of the durations is at most, 0 if there are none.
func Quantile(durations []time.Duration, share float64) time.Duration {
	if len(durations) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(durations))
	return sorted[int(share*float64(len(sorted)-1))]
}

// Meter measures.
type Meter struct {
	mu  sync.Mutex
	now Figures
}

// Read returns what was measured since the last time, and begins anew.
func (m *Meter) Read() Figures {
	m.mu.Lock()
	defer m.mu.Unlock()
	f := m.now
	m.now = Figures{}
	return f
}

// note changes the figures.
func (m *Meter) note(change func(f *Figures)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	change(&m.now)
}
