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

// The turns. A turn has 20 steps of two rounds each, which is a second unless a test is faster.
const (
	stepsPerTurn = 20
	stepDie      = 2  // a tenth of the endpoints dies,
	stepAnswer   = 7  // half of these answer again while their circuits are open,
	stepMend     = 16 // and the owners of the others, which are disabled by then, mend theirs
)

// play lets endpoints die and answer again. It returns what happens at a step, or nothing.
func play(all []*endpoint, step int) string {
	dying := len(all) / 10
	first := step / stepsPerTurn * dying
	set := func(from, to int, dead bool) int {
		for i := from; i < to; i++ {
			all[(first+i)%len(all)].dead.Store(dead)
		}
		return to - from
	}
	switch step % stepsPerTurn {
	case stepDie:
		return fmt.Sprintf("%d of %d endpoints stop answering", set(0, dying, true), len(all))
	case stepAnswer:
		return fmt.Sprintf("%d of them answer again", set(0, dying/2, false))
	case stepMend:
		return fmt.Sprintf("the owners of the other %d mend and enable them", set(dying/2, dying, false))
	}
	return ""
}
