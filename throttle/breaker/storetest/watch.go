package storetest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker/store"
	kit "github.com/spillway-go/spillway/throttle/internal/storetest"
)

func watchCases() []testCase {
	return []testCase{
		{"hears changes of another handle", watchHears},
		{"ends with its context", watchEnds},
		{"several at once", watchSeveral},
	}
}

// watching is a Watch under way.
type watching struct {
	heard  chan struct{}
	ended  chan error
	cancel context.CancelFunc
}

// watch begins to watch, or skips the case of a store that cannot.
func (r *rig) watch(s store.Store) *watching {
	r.Helper()
	w, ok := s.(store.Watcher)
	if !ok {
		r.Skipf("%T is no store.Watcher", s)
	}
	ctx, cancel := context.WithCancel(r.Context())
	r.Cleanup(cancel)
	watch := &watching{heard: make(chan struct{}, 1), ended: make(chan error, 1), cancel: cancel}
	go func() {
		watch.ended <- w.Watch(ctx, func() {
			select {
			case watch.heard <- struct{}{}:
			default:
			}
		})
	}()
	return watch
}

// hear writes until the watcher hears of it: hints may get lost, but not all of them.
func (r *rig) hear(w *watching, writer store.Store, shard int) error {
	r.Helper()
	for end := time.Now().Add(kit.Patience); time.Now().Before(end); {
		r.write(writer, shard, put(shard, 1, fmt.Sprint(time.Now())))
		select {
		case <-w.heard:
			return nil
		case err := <-w.ended:
			return fmt.Errorf("%w, although its context has not ended", cmp.Or(err, errors.New("nil")))
		case <-time.After(20 * time.Millisecond):
		}
	}
	return kit.Breach("changed was not called for %v, in which a handle wrote again and again", kit.Patience)
}

// hears wants the watcher to hear of a change.
func (r *rig) hears(w *watching, writer store.Store, shard int) {
	r.Helper()
	err := r.hear(w, writer, shard)
	if errors.Is(err, errors.ErrUnsupported) {
		r.Skipf("Watch: %v", err)
	}
	r.Must(err, "Watch")
}

// ends cancels the watcher and wants it to return.
func (r *rig) ends(w *watching) {
	r.Helper()
	w.cancel()
	select {
	case <-w.ended: //nolint:errcheck // it may end with any error
	case <-time.After(kit.Patience):
		r.Fatalf("Watch has not returned for %v after its context ended", kit.Patience)
	}
}

func watchHears(r *rig) {
	w := r.watch(r.Store)
	writer := r.Handle()
	for i := range 5 {
		r.hears(w, writer, i*13)
	}
	r.ends(w)
}

// watchEnds ends some before they can have begun, and some after. One can always watch again.
func watchEnds(r *rig) {
	r.ends(r.watch(r.Store))
	for range 3 {
		w := r.watch(r.Store)
		r.hears(w, r.Handle(), 1)
		r.ends(w)
	}
}

func watchSeveral(r *rig) {
	writer := r.Handle()
	var all []*watching
	for _, s := range append(r.Handles(3), r.Store, r.Store) {
		all = append(all, r.watch(s))
	}
	for _, w := range all {
		r.hears(w, writer, 2)
	}
	r.ends(all[0])
	for _, w := range all[1:] {
		r.hears(w, writer, 3)
	}
	for _, w := range all[1:] {
		r.ends(w)
	}
}
