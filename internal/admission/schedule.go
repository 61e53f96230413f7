package main

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spillway-go/spillway/throttle"
)

// priorities is the number of priorities in the mix.
const priorities = 4

type arrival struct {
	at       time.Duration // since the start of the load
	priority throttle.Priority
	tenant   string // see crowd; otherwise empty
	burst    bool   // it arrives together with others
}

// phase is a part of the load: a burst at its beginning, then independent arrivals at a mean rate.
type phase struct {
	length time.Duration
	rate   float64 // requests per second
	burst  int
}

// schedule returns the arrivals of the phases, one phase after the other. The gaps between independent
// arrivals are exponential, so that each phase is a Poisson process. The same seed returns the same
// arrivals.
func schedule(seed uint64, phases []phase) []arrival {
	random := rand.New(rand.NewPCG(seed, 37))
	var arrivals []arrival
	begin := time.Duration(0)
	for _, p := range phases {
		for range p.burst {
			arrivals = append(arrivals, arrival{at: begin, priority: draw(random), burst: true})
		}
		for at := begin; p.rate > 0; {
			at += time.Duration(random.ExpFloat64() / p.rate * float64(time.Second))
			if at >= begin+p.length {
				break
			}
			arrivals = append(arrivals, arrival{at: at, priority: draw(random)})
		}
		begin += p.length
	}
	return arrivals
}

// draw returns a priority: 10 % High, 20 % Important, 30 % Medium, 40 % Low.
func draw(random *rand.Rand) throttle.Priority {
	switch x := random.Float64(); {
	case x < 0.1:
		return throttle.High
	case x < 0.3:
		return throttle.Important
	case x < 0.6:
		return throttle.Medium
	default:
		return throttle.Low
	}
}

// patience is how long a caller waits for its answer.
const patience = time.Second

// offer sends the requests at their times, whatever becomes of earlier ones, and returns what came of
// each. It is an open load: a slow server does not slow it down.
func offer(call caller, arrivals []arrival) []record {
	records := make([]record, len(arrivals))
	start := time.Now()
	var requests sync.WaitGroup
	for i, a := range arrivals {
		time.Sleep(a.at - time.Since(start))
		requests.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			if a.tenant != "" {
				ctx = throttle.WithTenant(ctx, a.tenant)
			}
			begin := time.Now()
			o := call(ctx, a.priority)
			records[i] = record{arrival: a, outcome: o, latency: time.Since(begin), lag: begin.Sub(start) - a.at}
		})
	}
	requests.Wait()
	return records
}

// saturate keeps a few workers busy for a time, and returns the good answers per second until the last one.
// It is a closed load: each worker sends its next request after the answer.
func saturate(call caller, workers int, length time.Duration) float64 {
	start := time.Now()
	var loops sync.WaitGroup
	var n atomic.Int64
	for range workers {
		loops.Go(func() {
			for time.Since(start) < length {
				ctx, cancel := context.WithTimeout(context.Background(), 10*length)
				if call(ctx, throttle.High) == good {
					n.Add(1)
				}
				cancel()
			}
		})
	}
	loops.Wait()
	return float64(n.Load()) / time.Since(start).Seconds()
}
