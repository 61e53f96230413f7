package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spillway-go/spillway/examples/internal/program"
	"github.com/spillway-go/spillway/examples/internal/watch"
	"github.com/spillway-go/spillway/throttle/bucket"
)

// memberVariable is set in the environment of members.
const memberVariable = "SPILLWAY_QUOTA_MEMBER"

// isMember reports whether this process is a member, which another one of this program has started.
func isMember() bool { return os.Getenv(memberVariable) != "" }

// member is a process that calls the partner.
type member struct {
	orders  orders
	limiter *bucket.Limiter
	client  *http.Client

	answers, silences atomic.Uint64
	why               atomic.Pointer[error] // the last silence
	slowest           atomic.Int64
}

// beMember does what it is told until its input ends, and returns the exit code.
func beMember(in io.Reader, out io.Writer) int {
	// Ctrl-C reaches all processes of a terminal. The parent ends its members when it wants to.
	signal.Ignore(os.Interrupt)
	reports := json.NewEncoder(out)
	if err := obey(in, reports); err != nil {
		_ = reports.Encode(report{Failure: err.Error()}) // whoever does not listen any more need not know
		return program.Failed
	}
	return program.Done
}

func obey(in io.Reader, reports *json.Encoder) (err error) {
	told := json.NewDecoder(in)
	m := &member{client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: mostWorkers}, Timeout: graceOfAnswers}}
	if err := told.Decode(&m.orders); err != nil {
		return fmt.Errorf("orders: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, told.Buffered())
		_, _ = io.Copy(io.Discard, in) // to its end
		cancel()
	}()
	seen, err := watch.Open(m.orders.Metrics)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, seen.Close()) }()
	closeLimiter, err := m.openLimiter(hooks(seen))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeLimiter()) }()
	return m.work(ctx, reports, seen.URL())
}

// openLimiter makes the limiter, which shares its bucket with all other members if there is a place for it.
func (m *member) openLimiter(seen bucket.Hooks) (closeAll func() error, err error) {
	c := bucket.Config{
		Name: "partner", Limit: m.orders.Limit, OnFailure: m.orders.Policy, Replicas: m.orders.Members,
		Hooks: bucket.JoinHooks(bucket.Hooks{Asked: m.asked}, seen),
	}
	closeStore := func() error { return nil }
	if m.orders.Store != (place{}) {
		store, err := m.orders.Store.open()
		if err != nil {
			return nil, err
		}
		c.Store, closeStore = store, store.close
	}
	if m.limiter, err = bucket.New(c); err != nil {
		return nil, errors.Join(err, closeStore())
	}
	return func() error { return errors.Join(m.limiter.Close(), closeStore()) }, nil
}

// asked counts the answers of the store.
func (m *member) asked(_ context.Context, e bucket.StoreEvent) {
	if e.Err != nil {
		m.silences.Add(1)
		m.why.Store(&e.Err)
		return
	}
	m.answers.Add(1)
	m.took(e.Duration)
}

// took keeps the longest duration.
func (m *member) took(d time.Duration) {
	for before := m.slowest.Load(); int64(d) > before && !m.slowest.CompareAndSwap(before, int64(d)); {
		before = m.slowest.Load()
	}
}

// work lets the workers work, and reports, until ctx ends.
func (m *member) work(ctx context.Context, reports *json.Encoder, url string) error {
	var workers sync.WaitGroup
	defer workers.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for range m.orders.Workers {
		workers.Go(func() { m.call(ctx) })
	}
	ticks := time.NewTicker(often)
	defer ticks.Stop()
	for {
		r := m.report()
		r.Metrics = url
		if err := reports.Encode(r); err != nil {
			return nil // nobody listens: the parent is dead, or has had enough
		}
		url = ""
		select {
		case <-ticks.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// report says what there is to say now.
func (m *member) report() report {
	r := report{Answers: m.answers.Load(), Silences: m.silences.Load(), Slowest: time.Duration(m.slowest.Load())}
	if why := m.why.Load(); why != nil {
		r.Why = (*why).Error()
	}
	return r
}

// pause is how long a worker leaves the partner alone that it may not, or cannot, call.
const pause = 50 * time.Millisecond

// call is what a worker does: it wants to call the partner as often as it may.
func (m *member) call(ctx context.Context) {
	for ctx.Err() == nil {
		if err := m.callOnce(ctx); err != nil {
			program.Rest(ctx, pause)
		}
	}
}

// callOnce waits for a token, and calls the partner. A refusal is no error: the partner counts these.
func (m *member) callOnce(ctx context.Context) error {
	if err := m.limiter.Wait(ctx, bucketKey, 1); err != nil {
		return err
	}
	granted := time.Now()
	defer func() { m.took(time.Since(granted)) }()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, m.orders.Partner, nil)
	if err != nil {
		return err
	}
	r.Header.Set(processHeader, m.orders.Name)
	response, err := m.client.Do(r)
	if err != nil {
		return err
	}
	return response.Body.Close()
}
