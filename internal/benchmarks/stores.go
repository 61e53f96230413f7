package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"runtime"
	"testing"
	"time"
)

// The times of the measurement of stores.
const (
	storeBudget = 45 * time.Second // after all servers have started
	manyLength  = 200 * time.Millisecond
	oneLength   = 50 * time.Millisecond
)

// stores measures the cost of a token that a server grants, with many callers of one bucket and with
// one. The servers share the processors of the callers, as they did when the bounds were set.
func stores(wanted *regexp.Regexp, p progress) []table {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var tables []table
	testing.Benchmark(func(b *testing.B) { // it runs the cleanup functions, which stop the servers and remove their files
		tables = storeTables(measureStores(ctx, b, wanted, storeBudget, p))
		b.SkipNow() // once is enough
	})
	return tables
}

// measureStores starts the servers and measures rounds until the budget is used, at least one. In each
// round every contender runs one slice with many callers and one with a single caller, in random order.
func measureStores(ctx context.Context, t testing.TB, wanted *regexp.Regexp, budget time.Duration, p progress) []*contender {
	p("starting stores")
	defer p("")
	all := contenders(t, wanted)
	begun := time.Now()
	for slices := slicesOf(all); len(slices) > 0; slices = slicesOf(all) {
		p(fmt.Sprintf("stores, %.0f s of %.0f s", time.Since(begun).Seconds(), budget.Seconds()))
		runtime.GC()
		for _, slice := range slices {
			if ctx.Err() == nil {
				slice()
			}
		}
		if ctx.Err() != nil || time.Since(begun) >= budget {
			break
		}
	}
	for _, c := range all {
		c.finish()
	}
	return all
}

// contenders starts the engines whose name matches. For an engine that cannot start it returns a
// contender with the reason.
func contenders(t testing.TB, wanted *regexp.Regexp) []*contender {
	var all []*contender
	for _, e := range engines() {
		if !wanted.MatchString(e.name) {
			continue
		}
		started, why := e.startIn(t)
		if why != "" {
			started = []*contender{{name: e.name, unavailable: why}}
		}
		all = append(all, started...)
	}
	return all
}

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
