package main

import (
	"context"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spillway-go/spillway/throttle"
)

// patience is how long a client waits for its answer.
const patience = time.Second

// A kind of requests has a path, and a priority.
type kind struct {
	priority throttle.Priority
	path     string
	share    float64 // of the requests
}

// kinds returns the mix of requests, highest priority first.
func kinds() [4]kind {
	return [4]kind{
		{throttle.High, "/checkout", 0.1},
		{throttle.Important, "/cart", 0.2},
		{throttle.Medium, "/browse", 0.3},
		{throttle.Low, "/recommendations", 0.4},
	}
}

// draw returns the index of a kind, for x from 0 to 1.
func draw(x float64) int {
	all := kinds()
	last := len(all) - 1
	for i := range last {
		if x -= all[i].share; x < 0 {
			return i
		}
	}
	return last
}

// burstSeconds is for how long a burst of requests keeps a server busy.
const burstSeconds = 2

// load sends the same requests to all servers, at random times. It is an open load: a slow server does
// not slow it down.
type load struct {
	capacity float64       // of a server, requests per second
	factor   atomic.Uint64 // a float64: the rate as a multiple of the capacity
	burst    atomic.Int64  // requests to send at once
	servers  []*meter
	requests sync.WaitGroup
}

func (l *load) set(factor float64) { l.factor.Store(math.Float64bits(factor)) }
func (l *load) get() float64       { return math.Float64frombits(l.factor.Load()) }

// maxCatchUp is the longest time whose requests are sent at once after the process was paused, such as by Ctrl-Z.
const maxCatchUp = time.Second

// run sends requests from the time due until ctx ends. The gaps between them are exponential, so the arrivals are a
// Poisson process. After step it draws a longer gap again, by the rate of then. That changes nothing
// else: such a process has no memory.
func (l *load) run(ctx context.Context, due time.Time) {
	const step = 20 * time.Millisecond
	for ctx.Err() == nil {
		gap := rand.ExpFloat64() / (l.get() * l.capacity) // in seconds; infinite without a load
		arrives := gap < step.Seconds()
		if !arrives {
			gap = step.Seconds()
		}
		due = due.Add(time.Duration(gap * float64(time.Second)))
		if missed := time.Since(due) - maxCatchUp; missed > 0 {
			due = due.Add(missed)
		}
		time.Sleep(time.Until(due))
		if arrives {
			l.send(ctx, due)
		}
		for range l.burst.Swap(0) {
			l.send(ctx, due)
		}
	}
	l.requests.Wait()
}

func (l *load) send(ctx context.Context, due time.Time) {
	i := draw(rand.Float64())
	for _, m := range l.servers {
		l.requests.Go(func() { m.measure(ctx, i, due) })
	}
}

// newClient returns a client that keeps connections alive.
func newClient() *http.Client {
	return &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 256, IdleConnTimeout: 5 * time.Second}}
}

func fetch(ctx context.Context, client *http.Client, url string) outcome {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return failed
	}
	response, err := client.Do(r)
	if err == nil {
		_, err = io.Copy(io.Discard, response.Body)
		_ = response.Body.Close()
	}
	switch {
	case ctx.Err() != nil:
		return late
	case err != nil:
		return failed
	case response.StatusCode == http.StatusServiceUnavailable:
		return shed
	case response.StatusCode != http.StatusOK:
		return failed
	}
	return good
}

// saturate returns how many requests per second a server answers if it is always busy: each of a few
// clients sends its next request after the answer.
func saturate(ctx context.Context, url string, length time.Duration) float64 {
	const clients = 4
	var n atomic.Int64
	var loops sync.WaitGroup
	client := newClient()
	defer client.CloseIdleConnections()
	begin := time.Now()
	for range clients {
		loops.Go(func() {
			for time.Since(begin) < length && ctx.Err() == nil {
				if fetch(ctx, client, url) == good {
					n.Add(1)
				}
			}
		})
	}
	loops.Wait()
	return float64(n.Load()) / time.Since(begin).Seconds()
}
