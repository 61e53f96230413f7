package main

import (
	"fmt"
	"runtime"
	"testing"
)

// host starts servers outside of tests. Those who start them for tests say by it what is missing, and end then.
type host struct {
	testing.TB

	why string
}

// Fatal ends the start.
func (h *host) Fatal(args ...any) { h.end(fmt.Sprint(args...)) }

// Fatalf ends the start.
func (h *host) Fatalf(format string, args ...any) { h.end(fmt.Sprintf(format, args...)) }

// Skip ends the start.
func (h *host) Skip(args ...any) { h.end(fmt.Sprint(args...)) }

func (h *host) end(why string) {
	h.why = why
	runtime.Goexit()
}

// startIn starts an engine that ends with t, or says why it cannot.
func (e engine) startIn(t testing.TB) (started []*contender, why string) {
	h := &host{TB: t}
	over := make(chan struct{})
	go func() { // which may be ended
		defer close(over)
		started = e.start(h)
	}()
	<-over
	return started, h.why
}
