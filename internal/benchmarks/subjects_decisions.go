package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/backoff"
	"github.com/spillway-go/spillway/throttle/breaker"
	"github.com/spillway-go/spillway/throttle/bucket"
	"github.com/spillway-go/spillway/throttle/retry"
)

// breakers returns decisions of a breaker, without a call around them, and a call that is counted.
func breakers() []*subject {
	ctx := context.Background()
	few, fewKeys := breakerWith(1024, 100)
	handle := few.Circuit(fewKeys[1023])
	return []*subject{
		{name: "lookup, 1,024 keys, 100 open", op: lookup(few, fewKeys[100:])},
		{name: "handle", op: func() error { return handle.CanExecute(ctx) }, pair: true},
		{name: "Circuit.Do", op: func() error { return handle.Do(ctx, noop) }, pair: true},
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

var errNotGranted = errors.New("not granted")

// noRefill is longer than any run, so that a taken token does not come back.
const noRefill = 300 * 24 * time.Hour

// buckets returns takes from a limiter with buckets in memory, of which one is empty.
func buckets() []*subject {
	full, empty := bucketOf(bucket.PerSecond(unlimited)), bucketOf(bucket.Every(noRefill))
	_ = ask(empty)
	return []*subject{
		{name: "bucket, granted", pair: true, op: func() error { return ask(full) }},
		{name: "bucket, denied", pair: true, good: isDenied, op: func() error { return ask(empty) }},
	}
}

func bucketOf(l bucket.Limit) *bucket.Limiter {
	return bucket.Must(bucket.New(bucket.Config{Name: "bench", Limit: l}))
}

// ask takes a token of a bucket, and makes a call if it is granted.
func ask(l *bucket.Limiter) error {
	ctx := context.Background()
	d, err := l.Decide(ctx, "key")
	switch {
	case err != nil:
		return err
	case !d.Allowed:
		return errNotGranted
	}
	return noop(ctx)
}

func isDenied(err error) bool { return errors.Is(err, errNotGranted) }

func backoffs() []*subject {
	free := backoff.Must(backoff.New(backoff.Config{Name: "bench"}))
	return []*subject{{name: "backoff, Wait and Done", pair: true, op: func() error { return waited(free) }}}
}

// waited makes a successful call that does not wait.
func waited(r *backoff.Responsive) error {
	p, err := r.Wait(context.Background())
	if err != nil {
		return err
	}
	err = noop(context.Background())
	p.Finish(backoff.Success)
	return err
}

func retriers() []*subject {
	ctx := context.Background()
	around := throttle.Must(retry.New(retry.Config{Throttle: bench(throttle.Config{})}))
	alone := throttle.Must(retry.New(retry.Config{Name: "bench"}))
	return []*subject{
		{name: "retry around a throttle", pair: true, op: func() error { return around.Do(ctx, throttle.High, noop) }},
		{name: "retry alone", pair: true, op: func() error { return alone.Do(ctx, throttle.High, noop) }},
	}
}
