package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/spillway-go/spillway/examples/internal/program"
	"github.com/spillway-go/spillway/throttle/breaker"
)

// endpoint stands for the URL at which a customer takes webhooks.
type endpoint struct {
	key  breaker.Key
	dead atomic.Bool
}

// errTimeout is the error of a delivery to an endpoint that does not answer.
var errTimeout = errors.New("the endpoint does not answer")

func newEndpoints(n int) []*endpoint {
	all := make([]*endpoint, n)
	for i := range all {
		all[i] = &endpoint{key: breaker.Key{Tenant: fmt.Sprintf("customer-%d", i%10+1), ID: fmt.Sprintf("endpoint-%d", i+1)}}
	}
	return all
}

// post delivers a webhook, which takes 2 to 6 ms, or the whole timeout if the endpoint is dead. A
// dispatcher of yours makes an HTTP request here.
func (e *endpoint) post(ctx context.Context, timeout time.Duration) error {
	if e.dead.Load() {
		return errors.Join(program.Sleep(ctx, timeout), errTimeout)
	}
	return program.Sleep(ctx, 2*time.Millisecond+rand.N(4*time.Millisecond))
}

// The endpoints change in cycles of 20 steps. A step is two rounds, which is a second, or less in
// tests.
const (
	stepsPerCycle = 20
	stepDie       = 2  // a tenth of the endpoints stop answering
	stepAnswer    = 7  // half of these answer again; their circuits are open
	stepFix       = 16 // the others answer again; they are disabled by then
)

// changeEndpoints makes the changes of a step. It returns a line about them, or "".
func changeEndpoints(all []*endpoint, step int) string {
	dying := len(all) / 10
	first := step / stepsPerCycle * dying
	set := func(from, to int, dead bool) int {
		for i := from; i < to; i++ {
			all[(first+i)%len(all)].dead.Store(dead)
		}
		return to - from
	}
	switch step % stepsPerCycle {
	case stepDie:
		return fmt.Sprintf("%d of %d endpoints stop answering", set(0, dying, true), len(all))
	case stepAnswer:
		return fmt.Sprintf("%d of them answer again", set(0, dying/2, false))
	case stepFix:
		return fmt.Sprintf("the owners of the other %d fix and enable them", set(dying/2, dying, false))
	}
	return ""
}
