package main

import (
	"context"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/retry"
)

// The names of subjects that retry, and in these rows need no retry.
const (
	retryAround = "retry around a throttle"
	retryAlone  = "retry alone"
)

func retriers() []*subject {
	ctx := context.Background()
	around := throttle.Must(retry.New(retry.Config{Throttle: bench(throttle.Config{})}))
	alone := throttle.Must(retry.New(retry.Config{Name: "bench"}))
	return []*subject{
		{name: retryAround, pair: true, op: func() error { return around.Do(ctx, throttle.High, noop) }},
		{name: retryAlone, pair: true, op: func() error { return alone.Do(ctx, throttle.High, noop) }},
	}
}
