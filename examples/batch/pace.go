package main

import (
	"math"
	"time"

	"github.com/spillway-go/spillway/throttle/backoff"
)

// How the backoff goes up, and how it comes down: by how much, and after how many successes in a row. Half as many as by default, because the story is
// short.
const (
	up        = 1.25
	down      = 0.98
	threshold = 10
)

// backoffConfig is that of the job. Whatever delay is shorter than InitialInterval is none, so it must be well below the shortest that is wanted: half of
// the gap between two calls at the account's rate.
func (s *settings) backoffConfig() backoff.Config {
	return backoff.Config{
		Name: "orders-table", InitialInterval: s.budget().Interval() / 2, UpMultiplier: up, DownMultiplier: down, DownMultiplierThreshold: threshold,
	}
}

// finding is how long the backoff may take to come from one rate to another, both in multiples of the capacity, with a quarter to spare. At first it may be
// below by a step up, or by two if it goes to where it was. Each success takes the same part of the way, so that it takes longer where there are few.
func (s *settings) finding(from, to float64) time.Duration {
	step := float64(up)
	if from == to {
		step *= up
	}
	low, high := from*float64(s.capacity)/step, to*float64(s.capacity)
	perSuccess := -math.Log(down) / threshold
	return time.Duration(1.25 * (1/low - 1/high) / perSuccess * float64(time.Second))
}
