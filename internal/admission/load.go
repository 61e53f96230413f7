package main

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spillway-go/spillway/throttle"
)

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
