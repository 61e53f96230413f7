package storetest

import (
	"context"

	"github.com/spillway-go/spillway/throttle/bucket"
	"github.com/spillway-go/spillway/throttle/bucket/store"
	kit "github.com/spillway-go/spillway/throttle/internal/storetest"
)

// do calls a store and notes when. It judges nothing, and may be called by many at once.
func (r *rig) do(ctx context.Context, s store.Store, o operation) operation {
	ctx, cancel := context.WithTimeout(ctx, kit.Patience)
	defer cancel()
	o.called = r.now()
	o.decision, o.err = perform(ctx, s, o)
	o.returned = r.now()
	return o
}

// perform asks a store what an operation says.
func perform(ctx context.Context, s store.Store, o operation) (d bucket.Decision, err error) {
	switch o.kind {
	case take:
		d, err = s.Take(ctx, o.request)
	case giveBack:
		err = s.Return(ctx, o.request.Key, o.request.Limit, o.request.Max)
	case reset:
		err = s.Reset(ctx, o.request.Key)
	}
	return d, err
}

// step calls a store while nobody else uses the bucket, and wants what store.Level says.
func (r *rig) step(s store.Store, o operation) operation {
	r.Helper()
	if err := o.request.Limit.Validate(); err != nil {
		r.Fatalf("this case asks for what nobody may: %v", err)
	}
	o = r.do(r.Context(), s, o)
	if o.err != nil {
		r.Fatalf("%v of key %.40q, %s: got error %v, want none", o, o.request.Key, said(o.request.Limit), o.err)
	}
	before, known := r.levels[o.request.Key]
	if !known {
		before = []level{full()}
	}
	var next []level
	for _, v := range before {
		next = append(next, v.after(o, r.resolution)...)
	}
	if len(next) == 0 {
		r.Fatalf("%skey %.60q, %s:\ngot  %v\nwant %s", r.about, o.request.Key, said(o.request.Limit), o, before[0].wanted(o))
	}
	r.levels[o.request.Key] = next
	return o
}

// take asks for tokens of a bucket that nobody else uses.
func (r *rig) take(s store.Store, key string, l bucket.Limit, atLeast, atMost int64) operation {
	r.Helper()
	return r.step(s, operation{request: store.Request{Key: key, Limit: l, Min: atLeast, Max: atMost}})
}

// peek asks for none.
func (r *rig) peek(s store.Store, key string, l bucket.Limit) operation {
	r.Helper()
	return r.take(s, key, l, 0, 0)
}

func (r *rig) giveBack(s store.Store, key string, l bucket.Limit, n int64) {
	r.Helper()
	r.step(s, operation{kind: giveBack, request: store.Request{Key: key, Limit: l, Max: n}})
}

func (r *rig) reset(s store.Store, key string) {
	r.Helper()
	r.step(s, operation{kind: reset, request: store.Request{Key: key, Limit: lasting(1, bucket.Continuous)}})
}

// expect wants so many tokens granted, and so many left. Fewer than that can only be for a bucket that was used, and more if some came back.
func (r *rig) expect(why string, o operation, granted, remaining int64) {
	r.Helper()
	if d := o.decision; d.Granted != granted || d.Remaining != remaining || d.Allowed != (granted >= o.request.Min) {
		r.Errorf("%s: %s: got %v, want %d granted and %d remaining", why, said(o.request.Limit), o, granted, remaining)
	}
}

// forget makes the rig expect anything of a bucket, after what it cannot reckon with.
func (r *rig) forget(key string) { r.levels[key] = []level{unknown()} }
