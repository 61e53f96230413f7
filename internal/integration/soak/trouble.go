package main

import (
	"context"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
)

// frozenFor is how long a child stands still.
const frozenFor = 2 * time.Second

// trouble is what is done to the children, beside what the stories of webhooks and batch do by themselves: there endpoints die and come
// back, agents are killed and replaced, the table doubles and halves.
type trouble struct {
	wishes  atomic.Int64 // that the storefront has granted
	freezes atomic.Int64
	wrong   incidents
}

// wishes returns what the storefront is told, one after the other, and over and over.
func wishes() []string {
	return []string{
		`{"load": 4}`,
		`{"backend": "down"}`,
		`{"backend": "up", "load": 1}`,
		`{"policy": "sre", "load": 4}`,
		`{"capacity": 100}`,
		`{"backend": "brownout", "load": 2}`,
		`{"throttle": "off", "backend": "up"}`,
		`{"throttle": "on", "policy": "tiered", "capacity": 400, "load": 0.8}`,
	}
}

// upset changes what happens at a storefront, every so often, until ctx ends.
func (t *trouble) upset(ctx context.Context, url string, every time.Duration) {
	client := &http.Client{Transport: &http.Transport{}, Timeout: patienceAnswer}
	defer client.CloseIdleConnections()
	for {
		for _, wish := range wishes() {
			_, err := fetch(ctx, client, http.MethodPost, url+"/control", strings.NewReader(wish))
			if ctx.Err() != nil {
				return
			}
			t.wrong.note("/control "+wish, err)
			if err == nil {
				t.wishes.Add(1)
			}
			if !rest(ctx, every) {
				return
			}
		}
	}
}

// freeze freezes one child after the other, every so often, until ctx ends. When is up to chance: the stories are repeated, and it would
// always be the same act that is frozen.
func (t *trouble) freeze(ctx context.Context, children family, every time.Duration) {
	for {
		for _, c := range children {
			if !rest(ctx, every/2+rand.N(every)) {
				return
			}
			if c.over() {
				continue
			}
			t.wrong.note("freeze "+c.example, c.freeze(ctx, frozenFor))
			t.freezes.Add(1)
		}
	}
}
