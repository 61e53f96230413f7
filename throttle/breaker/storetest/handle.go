package storetest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker/store"
	kit "github.com/spillway-go/spillway/throttle/internal/storetest"
)

func closeLeavesOthers(r *fixture) {
	first, second := r.Handle(), r.Handle()
	leases, shards, probes := leaseModel{fixture: r}, newShards(r), newProbeModel(r)
	for i, s := range []store.Store{first, second, r.Handle()} {
		leases.campaign(s, "a", long)
		leases.campaign(s, "b", long)
		shards.apply(s, puts("x"))
		shards.expect(second, home)
		probes.probe(s, asks(6))
		if i == 0 {
			r.Must(first.Close(), "Close")
		}
	}
}

func closeTwice(r *fixture) {
	s, m := r.Handle(), newShards(r)
	m.apply(s, puts("x"))
	r.CloseTwice(s)
	m.expect(r.Handle(), home)
}

// useAll calls every method, Watch too.
func (r *fixture) useAll(s store.Store) {
	r.Helper()
	r.UseAll(s, methods(newProbeModel(r).request(asks(1))))
	if _, ok := s.(store.Watcher); ok {
		w := r.watch(s)
		if r.awaitChange(w, s, 1) == nil { // the cases of Watch check the error
			r.stop(w)
		}
	}
}

type method = kit.Method[store.Store]

// methods returns a call of every method except Watch.
func methods(q store.ProbeRequest) []method {
	return []method{
		{Name: "Campaign", Call: func(ctx context.Context, s store.Store) error {
			_, err := s.Campaign(ctx, store.Candidate{Owner: "late", TTL: long})
			return err
		}},
		{Name: "Resign", Call: func(ctx context.Context, s store.Store) error {
			return s.Resign(ctx, store.Lease{Owner: "another", Term: 1})
		}},
		{Name: "Versions", Call: func(ctx context.Context, s store.Store) error {
			_, err := s.Versions(ctx)
			return err
		}},
		{Name: "Load", Call: func(ctx context.Context, s store.Store) error {
			_, err := s.Load(ctx, []int{0, 1})
			return err
		}},
		{Name: "Apply", Call: func(ctx context.Context, s store.Store) error {
			_, err := s.Apply(ctx, batch(1, 99, store.Version{}, "late"))
			if errors.Is(err, store.ErrConflict) {
				return nil // the shard was written before
			}
			return err
		}},
		{Name: "Probe", Call: func(ctx context.Context, s store.Store) error {
			_, err := s.Probe(ctx, []store.ProbeRequest{q})
			return err
		}},
	}
}

// endedContext calls every method with a context that has ended. Each must return an error and
// write nothing.
func (r *fixture) endedContext(ctx context.Context) {
	r.Helper()
	leases, shards, probes := leaseModel{fixture: r}, newShards(r), newProbeModel(r)
	for _, m := range methods(probes.request(asks(10))) {
		r.RejectsEnded(ctx, m)
	}
	leases.campaign(r.Store, "alive", long)
	shards.expect(r.Store, home)
	shards.apply(r.Store, puts("alive").under(98)) // the call that was rejected had term 99
	probes.probe(r.Store, asks(10))
}

// canceledMeanwhile cancels calls in flight. Acknowledged writes must be stored; canceled writes
// may be stored. The store must work afterwards, and must not return the answer to an earlier call.
func canceledMeanwhile(r *fixture) {
	const shard, attempts = 53, 150
	var acknowledged, unknown int
	r.CancelDuring(attempts, 10*time.Microsecond, func(ctx context.Context, i int) {
		v := r.shard(r.Store, shard).Version
		err := r.Returns(ctx, r.Store, method{Name: "Apply", Call: func(ctx context.Context, s store.Store) error {
			_, err := s.Apply(ctx, batch(shard, 0, v, strconv.Itoa(i)))
			return err
		}})
		r.loadCanceled(ctx, shard)
		switch {
		case err == nil:
			acknowledged++
		case errors.Is(err, store.ErrConflict) && unknown == 0, errors.Is(err, store.ErrFenced):
			r.Fatalf("Apply by the only writer, canceled during the call: got error %v, want none or that of the context", err)
		default:
			unknown++
		}
	})
	got := int(r.shard(r.Handle(), shard).Version.Number)
	if got < acknowledged || got > acknowledged+unknown {
		r.Errorf("%d writes were acknowledged and %d were canceled: got version number %d, want %d to %d",
			acknowledged, unknown, got, acknowledged, acknowledged+unknown)
	}
	r.until("Apply still gets ErrConflict after canceled writes, want it to succeed", func() bool { // a canceled write may still be in flight
		_, err := r.tryApply(r.Store, batch(shard, 0, r.shard(r.Store, shard).Version, "still works"))
		if !errors.Is(err, store.ErrConflict) {
			r.Must(err, "Apply after canceled writes")
		}
		return err == nil
	})
}

// loadCanceled loads two shards with a context that may end during the call. If there is an answer,
// it must be correct.
func (r *fixture) loadCanceled(ctx context.Context, shard int) {
	r.Helper()
	err := r.Returns(ctx, r.Store, method{Name: "Load", Call: func(ctx context.Context, s store.Store) error {
		loaded, err := s.Load(ctx, []int{shard, shard + 1})
		if err != nil {
			return nil
		}
		_, err = byIndex([]int{shard, shard + 1}, loaded)
		return err
	}})
	r.Must(err, "Load, canceled during the call")
}

func watchCases() []testCase {
	return []testCase{
		{"ends with its context", watchEnds},
		{"several watchers", watchSeveral},
	}
}

// watching is a Watch in flight.
type watching struct {
	changed chan struct{}
	ended   chan error
	cancel  context.CancelFunc
}

// watch starts Watch. It skips the case if the store does not implement store.Watcher.
func (r *fixture) watch(s store.Store) *watching {
	r.Helper()
	w, ok := s.(store.Watcher)
	if !ok {
		r.Skipf("%T does not implement store.Watcher", s)
	}
	ctx, cancel := context.WithCancel(r.Context())
	r.Cleanup(cancel)
	watch := &watching{changed: make(chan struct{}, 1), ended: make(chan error, 1), cancel: cancel}
	go func() {
		watch.ended <- w.Watch(ctx, func() {
			select {
			case watch.changed <- struct{}{}:
			default:
			}
		})
	}()
	return watch
}

// awaitChange writes until Watch reports a change. Single reports may be lost.
func (r *fixture) awaitChange(w *watching, writer store.Store, shard int) error {
	r.Helper()
	for pause, end := kit.Tick, time.Now().Add(kit.Patience); time.Now().Before(end); pause = min(2*pause, time.Second) {
		r.write(writer, shard, put(shard, 1, fmt.Sprint(time.Now())))
		select {
		case <-w.changed:
			return nil
		case err := <-w.ended:
			return fmt.Errorf("it returned %w before its context ended", cmp.Or(err, errors.New("nil")))
		case <-time.After(pause):
		}
	}
	return kit.Breach("changed was not called within %v of repeated writes", kit.Patience)
}

func (r *fixture) expectChange(w *watching, writer store.Store, shard int) {
	r.Helper()
	err := r.awaitChange(w, writer, shard)
	if errors.Is(err, errors.ErrUnsupported) {
		r.Skipf("Watch: %v", err)
	}
	r.Must(err, "Watch")
}

func (r *fixture) stop(w *watching) {
	r.Helper()
	w.cancel()
	select {
	case <-w.ended: //nolint:errcheck // any error is allowed
	case <-time.After(kit.Patience):
		r.Fatalf("Watch: it has not returned %v after its context ended", kit.Patience)
	}
}

// watchEnds ends Watch before and after the first change, and starts it again.
func watchEnds(r *fixture) {
	r.stop(r.watch(r.Store))
	for range 3 {
		w := r.watch(r.Store)
		r.expectChange(w, r.Handle(), 1)
		r.stop(w)
	}
}

func watchSeveral(r *fixture) {
	writer := r.Handle()
	var all []*watching
	for _, s := range append(r.Handles(3), r.Store, r.Store) {
		all = append(all, r.watch(s))
	}
	for i, w := range all {
		r.expectChange(w, writer, i*13)
	}
	r.stop(all[0])
	for _, w := range all[1:] {
		r.expectChange(w, writer, 3)
	}
	for _, w := range all[1:] {
		r.stop(w)
	}
}
