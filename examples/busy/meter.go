package main

import (
	"context"
	"encoding/json"
	"math"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/spillway-go/spillway/examples/internal/program"
	"github.com/spillway-go/spillway/throttle"
)

// outcome is how a request ended for its client.
type outcome int

const (
	good   outcome = iota // answered in time
	shed                  // refused with 503
	late                  // the patience of the client was over
	failed                // anything else
	outcomes
)

// The spans of the figures: rates are of a second, other figures of five.
const (
	period      = 250 * time.Millisecond
	rateSpan    = 4  // periods
	successSpan = 20 // periods
)

// tally has the requests that ended within a period.
type tally struct {
	ended     [4][outcomes]int // by kind
	latencies []time.Duration  // of good answers
	lag       time.Duration    // in all, from the time of sending that was drawn until the request was sent
}

// meter measures what the clients of a server see.
type meter struct {
	url    string
	client *http.Client

	mu      sync.Mutex
	now     tally
	periods []tally       // the last ones, oldest first
	wait    time.Duration // for a processor, when it was read last
	asked   time.Time     // when the question for it was sent, or zero
}

func newMeter(url string) *meter { return &meter{url: url, client: newClient()} }

// measure sends a request of a kind, and counts it when it ends.
func (m *meter) measure(ctx context.Context, kind int, due time.Time) {
	begin := time.Now()
	o := fetch(ctx, m.client, m.url+kinds()[kind].path)
	if ctx.Err() != nil {
		return // the program ends
	}
	m.record(kind, o, time.Since(begin), begin.Sub(due))
}

func (m *meter) record(kind int, o outcome, latency, lag time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now.ended[kind][o]++
	m.now.lag += lag
	if o == good {
		m.now.latencies = append(m.now.latencies, latency)
	}
}

// watch reads how long requests of the server wait for a processor, until ctx ends.
func (m *meter) watch(ctx context.Context) {
	client := newClient()
	defer client.CloseIdleConnections()
	for ctx.Err() == nil {
		m.ask(ctx, client)
		_ = program.Sleep(ctx, period)
	}
}

// ask reads throttle.Processor of the server. The bare server does not know how long its requests wait.
// The time until it answers is what a request waits that does no work.
func (m *meter) ask(ctx context.Context, client *http.Client) {
	begin := time.Now()
	m.mu.Lock()
	m.asked = begin
	m.mu.Unlock()
	state, err := processorOf(ctx, client, m.url+statePath)
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case err != nil:
	case state.Aim > 0:
		m.wait += (state.Wait - m.wait) / 4 // it varies more than a reader can follow
	default:
		m.wait = time.Since(begin)
	}
	m.asked = time.Time{}
}

func processorOf(ctx context.Context, client *http.Client, url string) (state throttle.ProcessorStats, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return state, err
	}
	response, err := client.Do(r)
	if err != nil {
		return state, err
	}
	defer response.Body.Close()
	return state, json.NewDecoder(response.Body).Decode(&state)
}

// side is what a sample has about a server. Rates are per second, times in milliseconds. A figure
// that is not known is null.
type side struct {
	Good    float64     `json:"good"`
	Shed    [4]float64  `json:"shed"` // by priority, highest first
	Late    float64     `json:"late"`
	Failed  float64     `json:"failed"`
	Success [4]*float64 `json:"success"`
	P99     *float64    `json:"p99"`  // of good answers
	Wait    *float64    `json:"wait"` // for a processor
	lag     float64
}

// read ends a period, and returns the figures of the last ones.
func (m *meter) read() side {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.periods = append(m.periods, m.now)
	m.now = tally{}
	if len(m.periods) > successSpan {
		m.periods = m.periods[1:]
	}
	s := summarize(m.periods)
	wait := m.wait
	if !m.asked.IsZero() {
		wait = max(wait, time.Since(m.asked))
	}
	s.Wait = new(milliseconds(wait))
	return s
}

func summarize(periods []tally) side {
	recent, n := sum(periods[max(0, len(periods)-rateSpan):])
	rate := func(n int) float64 { return float64(n) / (float64(min(len(periods), rateSpan)) * period.Seconds()) }
	s := side{lag: milliseconds(recent.lag) / float64(max(n, 1))}
	for kind, ended := range recent.ended {
		s.Good += rate(ended[good])
		s.Late += rate(ended[late])
		s.Failed += rate(ended[failed])
		s.Shed[kind] = rate(ended[shed])
	}
	all, _ := sum(periods)
	for kind, ended := range all.ended {
		if n := ended[good] + ended[shed] + ended[late] + ended[failed]; n > 0 {
			s.Success[kind] = new(float64(ended[good]) / float64(n))
		}
	}
	if n := len(all.latencies); n > 0 {
		slices.Sort(all.latencies)
		s.P99 = new(milliseconds(all.latencies[int(math.Ceil(0.99*float64(n)))-1]))
	}
	return s
}

// sum adds the tallies, and returns the number of requests too.
func sum(tallies []tally) (all tally, n int) {
	for _, t := range tallies {
		for kind, ended := range t.ended {
			for o, count := range ended {
				all.ended[kind][o] += count
				n += count
			}
		}
		all.latencies = append(all.latencies, t.latencies...)
		all.lag += t.lag
	}
	return all, n
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
