package otelthrottle_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/spillway-go/spillway/otelthrottle"
	"github.com/spillway-go/spillway/throttle"
)

// crowd is what 64 goroutines meddle with.
type crowd struct {
	*lab
	*endpoint
	t         *testing.T
	hooks     throttle.Hooks
	throttles [4]atomic.Pointer[throttle.Throttle]
	succeeded atomic.Int64
}

// step does one thing of all there are to do. Near the end it may be Shutdown.
func (c *crowd) step(dice *rand.Rand, late bool) {
	slot := &c.throttles[dice.IntN(len(c.throttles))]
	switch k := dice.IntN(80); {
	case k < 50:
		if callUnderASpan(c.lab, slot.Load(), dice) == nil {
			c.succeeded.Add(1)
		}
	case k < 62:
		config := throttle.Config{Name: fmt.Sprint("db", dice.IntN(3)), Priorities: 1 + dice.IntN(6), Hooks: c.hooks}
		if dice.IntN(2) == 0 {
			config.Hooks = c.tel.Hooks()
		}
		_ = slot.Swap(throttle.Must(throttle.New(config))).Close()
	case k < 66:
		mode := throttle.Mode(dice.IntN(3))
		if err := slot.Load().Tune(func(u *throttle.Tuning) { u.Mode = mode }); err != nil {
			c.t.Errorf("Tune: got error %v want nil", err)
		}
	case k < 74:
		collect(c.t, c.reader)
	case k < 75: // the dearest of all
		wantNoError(c.t, c.endpoint)
	case late:
		c.shutDown()
	}
}

func (c *crowd) shutDown() {
	if err := c.tel.Shutdown(context.Background()); err != nil {
		c.t.Errorf("Shutdown: got error %v want nil", err)
	}
}

// TestEverythingAtOnce scrapes while throttles are created, tuned, called and closed, and the adapter is shut down, all from
// 64 goroutines. The race detector is the judge, and afterwards the books are.
func TestEverythingAtOnce(t *testing.T) {
	const goroutines, steps = 64, 40
	c := &crowd{t: t}
	c.lab, c.endpoint = newScrapedLab(t, setup{})
	c.hooks = c.tel.Hooks()
	for i := range c.throttles {
		c.throttles[i].Store(throttle.Must(throttle.New(throttle.Config{Name: fmt.Sprint("db", i%2), Ratio: 1.1, Hooks: c.hooks})))
	}
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			dice := rand.New(rand.NewPCG(3, uint64(g)))
			for i := range steps {
				c.step(dice, i == steps-1)
			}
		})
	}
	wg.Wait()
	c.shutDown()
	equal(t, "spans that never ended", len(c.spans.Started())-len(c.spans.Ended()), 0)
	got := c.read(t)
	equal(t, "series but those of durations", len(got)-len(got.of(otelthrottle.MetricCallDuration)), 0)
	if c.succeeded.Load() == 0 {
		t.Error("got no call that succeeded")
	}
}

// callUnderASpan makes a call that ends somehow, under a span of the application or without.
func callUnderASpan(l *lab, th *throttle.Throttle, dice *rand.Rand) error {
	ctx := context.Background()
	if dice.IntN(2) == 0 {
		spanCtx, request := l.request(ctx)
		defer request.End()
		ctx = spanCtx
	}
	all := ends()
	return th.Do(ctx, throttle.Priority(dice.IntN(5)), returns(all[dice.IntN(len(all))]))
}

// wantNoError fails the test, from any goroutine, unless the endpoint answers well.
func wantNoError(t *testing.T, e *endpoint) {
	response, err := e.server.Client().Get(e.server.URL)
	if err != nil {
		t.Errorf("scrape: got error %v want nil", err)
		return
	}
	defer response.Body.Close()
	if response.StatusCode != 200 {
		t.Errorf("scrape: got status %d want 200", response.StatusCode)
	}
}
