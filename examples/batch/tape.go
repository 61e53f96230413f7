package main

import (
	"sync"
	"time"
)

// call is one that was made with the backoff.
type call struct {
	at        time.Time
	delay     time.Duration // the backoff's when it was made
	throttled bool
}

// tape records calls for the plot.
type tape struct {
	mu    sync.Mutex
	calls []call
}

func (t *tape) record(c call) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.calls = append(t.calls, c)
}
