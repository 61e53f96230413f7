package main

import (
	"context"

	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/budget"
	"github.com/failsafe-go/failsafe-go/retrypolicy"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/retry"
)

// The names of subjects that retry, and in these rows need no retry.
const (
	retryAround        = "retry around a throttle"
	retryAlone         = "retry alone"
	peerFailsafeBudget = "failsafe-go retry with a budget"
)

// retriers returns successful calls through a Retrier.
func retriers() []*subject {
	ctx := context.Background()
	around := throttle.Must(retry.New(retry.Config{Throttle: bench(throttle.Config{})}))
	alone := throttle.Must(retry.New(retry.Config{Name: "bench"}))
	return []*subject{
		{name: retryAround, pair: true, op: func() error { return around.Do(ctx, throttle.High, noop) }},
		{name: retryAlone, pair: true, op: func() error { return alone.Do(ctx, throttle.High, noop) }},
	}
}

// failsafeBudget makes successful calls through failsafe-go's retry policy, with its budget.
func failsafeBudget() *subject {
	policy := retrypolicy.NewBuilder[any]().WithBudget(budget.New()).Build()
	executor := failsafe.With[any](policy)
	return &subject{name: peerFailsafeBudget, pair: true, op: func() error { return executor.Run(noopPlain) }}
}
