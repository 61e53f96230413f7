package main

import (
	"context"
	"sync/atomic"
	"time"
	"unsafe"
)

// The names of the floors, by which others are divided.
const (
	floorS  = "S: context, clock, load, sharded add, call"
	floorS2 = "S2: the same with a second clock read"

	floorClock = "clock"
	floorBare  = "bare call"
)

// floors are the least work that a throttle could do for a call.
func floors() []*subject {
	ctx := context.Background()
	f := &floor{base: time.Now()}
	return []*subject{
		{group: "floors", name: floorBare, op: func() error { return noop(ctx) }, pair: true},
		{group: "floors", name: floorClock, op: func() error { f.now = time.Since(f.base); return nil }},
		{group: "floors", name: floorS, op: func() error { return f.do(ctx, noop) }, pair: true},
		{group: "floors", name: floorS2, op: func() error { return f.do2(ctx, noop) }, pair: true},
	}
}

// noop is the function that calls are made around; the others are for those that want another kind.
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

// do is floor S: one context lookup, one clock read, one atomic load, one atomic addition on a stripe picked by the address of
// the stack, and the call.
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

// do2 is floor S2.
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

// stripe picks the caller's counter.
func (f *floor) stripe() *atomic.Uint64 {
	var here byte
	address := uint64(uintptr(unsafe.Pointer(&here)))
	return &f.stripes[address>>11*0x9E3779B97F4A7C15>>32&3].calls
}
