package main

import (
	"fmt"
	"runtime"
	"testing"
)

// host is the testing.TB with which servers are started outside of tests. It records the reason if
// package program skips or fails, and ends the goroutine.
type host struct {
	testing.TB

	why string
}

// Fatal ends the start with a reason.
func (h *host) Fatal(args ...any) { h.end(fmt.Sprint(args...)) }

// Fatalf ends the start with a reason.
func (h *host) Fatalf(format string, args ...any) { h.end(fmt.Sprintf(format, args...)) }

// Skip ends the start with a reason.
func (h *host) Skip(args ...any) { h.end(fmt.Sprint(args...)) }

func (h *host) end(why string) {
	h.why = why
	runtime.Goexit()
}

// startIn starts an engine that stops when t ends, or returns why it cannot.
func (e engine) startIn(t testing.TB) (started []*contender, why string) {
	h := &host{TB: t}
	done := make(chan struct{})
	go func() { // because Fatal and Skip end the goroutine
		defer close(done)
		started = e.start(h)
	}()
	<-done
	return started, h.why
}
