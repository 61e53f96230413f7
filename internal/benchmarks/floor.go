package main

import (
	"context"
	"sync/atomic"
	"time"
	"unsafe"
)

// The names of the floors, which are the divisors of the ratios.
const (
	floorS  = "S: context, clock, load, sharded add, call"
	floorS2 = "S2: the same with a second clock read"

	floorClock = "clock"
	floorBare  = "bare call"
)

// floors returns subjects that do the least work a throttle could do for a call.
func floors() []*subject {
	ctx := context.Background()
	f := &floor{base: time.Now()}
	return []*subject{
		{name: floorBare, op: func() error { return noop(ctx) }, pair: true},
		{name: floorClock, op: func() error { f.now = time.Since(f.base); return nil }},
		{name: floorS, op: func() error { return f.do(ctx, noop) }, pair: true},
		{name: floorS2, op: func() error { return f.do2(ctx, noop) }, pair: true},
	}
}

// noop is the function that subjects call. The others are for peers that need another signature.
//
//go:noinline
func noop(context.Context) error { return nil }

//go:noinline
func noopPlain() error { return nil }

//go:noinline
func noopAny() (any, error) { return nil, nil }

//go:noinline
func noopValue(context.Context) (int, error) { return 1, nil }

// floorKey is what the floors look up in the context.
type floorKey struct{}

// floor counts calls on four stripes of two cache lines each.
type floor struct {
	base    time.Time
	now     time.Duration
	load    atomic.Int64
	_       [128]byte
	stripes [4]struct {
		calls atomic.Uint64
		_     [120]byte
	}
}

// do is floor S: one context lookup, one clock read, one atomic load, the call, and one atomic addition
// on a stripe. The address of the stack picks the stripe.
//
//go:noinline
func (f *floor) do(ctx context.Context, fn func(context.Context) error) error {
	if ctx.Value(floorKey{}) != nil || f.load.Load() < 0 {
		return context.Canceled
	}
	err := fn(ctx)
	if time.Since(f.base) > 0 {
		f.stripe().Add(1)
	}
	return err
}

// do2 is floor S2: the same with a second clock read.
//
//go:noinline
func (f *floor) do2(ctx context.Context, fn func(context.Context) error) error {
	if ctx.Value(floorKey{}) != nil || f.load.Load() < 0 {
		return context.Canceled
	}
	begin := time.Since(f.base)
	err := fn(ctx)
	if time.Since(f.base) >= begin {
		f.stripe().Add(1)
	}
	return err
}

func (f *floor) stripe() *atomic.Uint64 {
	var here byte
	address := uint64(uintptr(unsafe.Pointer(&here)))
	return &f.stripes[address>>11*0x9E3779B97F4A7C15>>32&3].calls
}
