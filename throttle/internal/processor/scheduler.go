package processor

import (
	"runtime/metrics"
	"slices"
)

// The metrics of package runtime that are read. Since Go 1.26 it has the first one.
const (
	runnableMetric   = "/sched/goroutines/runnable:goroutines"
	latenciesMetric  = "/sched/latencies:seconds"
	processorsMetric = "/sched/gomaxprocs:threads"

	// The histogram of latencies has one turn of eight.
	turnsPerSample = 8
)

// scheduler reads the state of Go's scheduler.
type scheduler struct {
	samples [3]metrics.Sample
	counts  []uint64 // of the histogram at the last reading
}

// open prepares the reading. It returns the name of a metric that this version of Go does not have, or "".
func (s *scheduler) open() (missing string) {
	for i, name := range [...]string{runnableMetric, processorsMetric, latenciesMetric} {
		s.samples[i].Name = name
	}
	metrics.Read(s.samples[:])
	for i, want := range [...]metrics.ValueKind{metrics.KindUint64, metrics.KindUint64, metrics.KindFloat64Histogram} {
		if s.samples[i].Value.Kind() != want {
			return s.samples[i].Name
		}
	}
	s.counts = slices.Clone(s.samples[2].Value.Float64Histogram().Counts)
	return ""
}

// read returns the goroutines that wait for a processor, the number of processors, and the turns since
// the last call, of goroutines that had waited for at least this time.
func (s *scheduler) read(waited float64) (runnable, processors int, turns float64) {
	metrics.Read(s.samples[:])
	h := s.samples[2].Value.Float64Histogram()
	var sum uint64
	for i, n := range h.Counts {
		if h.Buckets[i+1] >= waited {
			sum += n - s.counts[i]
		}
	}
	copy(s.counts, h.Counts)
	return int(s.samples[0].Value.Uint64()), max(1, int(s.samples[1].Value.Uint64())), float64(sum) * turnsPerSample
}
