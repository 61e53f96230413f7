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

// How the section about stores is measured.
const (
	storeBudget = 45 * time.Second // from when the servers run
	rushLength  = 200 * time.Millisecond
	aloneLength = 50 * time.Millisecond
)

// stores is what a token costs that is asked of a server: with many callers of one bucket, and with one. The servers run on the same
// processors, as they did when the bounds were set.
func stores(wanted *regexp.Regexp, p *progress) []table {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var tables []table
	testing.Benchmark(func(b *testing.B) { // it ends what was started, and takes away what that has written
		tables = storeTables(measureStores(ctx, b, wanted, storeBudget, p))
		b.SkipNow() // once is enough
	})
	return tables
}

// measureStores starts the servers and measures in rounds, until the time is over, but one at least. In each round every contender has a slice
// with many callers and one with a single one, in an order drawn anew.
func measureStores(ctx context.Context, t testing.TB, wanted *regexp.Regexp, budget time.Duration, p *progress) []*contender {
	p.tell("stores are started")
	defer p.tell("")
	all := contenders(t, wanted)
	begun := time.Now()
	for slices := slicesOf(all); len(slices) > 0; slices = slicesOf(all) {
		p.tell(fmt.Sprintf("stores, %.0f s of %.0f s", time.Since(begun).Seconds(), budget.Seconds()))
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
		c.settle()
	}
	return all
}

// contenders starts the engines of which something is wanted. Of one that cannot be started there is a contender that says why.
func contenders(t testing.TB, wanted *regexp.Regexp) []*contender {
	var all []*contender
	for _, e := range engines() {
		if !wanted.MatchString(e.name) {
			continue
		}
		started, why := e.startIn(t)
		if why != "" {
			started = []*contender{{name: e.name, lacks: why}}
		}
		all = append(all, started...)
	}
	return all
}
