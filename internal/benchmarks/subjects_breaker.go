package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker"
)

// The names of the breaker subjects.
const (
	breakerLookup = "lookup, 1,024 keys, 100 open"
	breakerHandle = "handle"
	breakerDo     = "Circuit.Do"
)

// breakers returns decisions of a breaker, without a call around them, and a call that is counted.
func breakers() []*subject {
	ctx := context.Background()
	few, fewKeys := breakerWith(1024, 100)
	handle := few.Circuit(fewKeys[1023])
	return []*subject{
		{name: breakerLookup, op: lookup(few, fewKeys[100:])},
		{name: breakerHandle, op: func() error { return handle.CanExecute(ctx) }, pair: true},
		{name: breakerDo, op: func() error { return handle.Do(ctx, noop) }, pair: true},
	}
}

// lookup returns an operation that looks up one key after the other.
func lookup(m *breaker.Manager, keys []breaker.Key) func() error {
	ctx, n := context.Background(), 0
	return func() error {
		n++
		if n == len(keys) {
			n = 0
		}
		return m.CanExecute(ctx, keys[n])
	}
}

// breakerWith returns a manager and its keys. The circuits of the first keys are forced open.
func breakerWith(keys, open int) (*breaker.Manager, []breaker.Key) {
	m := breaker.Must(breaker.New(breaker.Config{Name: "bench", StoreTimeout: time.Minute})) // a busy machine may pause for longer than the default
	all := make([]breaker.Key, keys)
	for i := range all {
		all[i] = breaker.Key{Tenant: "tenant", ID: fmt.Sprintf("https://endpoint-%07d.example/hooks", i)}
	}
	for _, k := range all[:open] {
		if err := m.ForceOpen(context.Background(), k); err != nil {
			panic(err)
		}
	}
	return m, all
}
