package main

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"sync"
	"time"

	"github.com/spillway-go/spillway/examples/internal/page"
	"github.com/spillway-go/spillway/examples/internal/program"
)

// busy is the load, and what the clients of both servers see of it.
type busy struct {
	settings        settings
	load            *load
	protected, bare *meter
	stream          *page.Stream
}

// sample is what the page and the terminal show, at a moment.
type sample struct {
	At         int64   `json:"at"` // milliseconds
	Handler    float64 `json:"handler"`
	Processors int     `json:"processors"` // of this machine
	Capacity   float64 `json:"capacity"`
	Load       float64 `json:"load"`
	Lag        float64 `json:"lag"` // of the load, in milliseconds
	Protected  side    `json:"protected"`
	Bare       side    `json:"bare"`
}

func newBusy(s settings, capacity float64, protectedURL, bareURL string) *busy {
	b := &busy{settings: s, protected: newMeter(protectedURL), bare: newMeter(bareURL), stream: page.NewStream()}
	b.load = &load{capacity: capacity, servers: []*meter{b.protected, b.bare}}
	b.load.set(s.load)
	return b
}

// saturateBoth returns the capacity of a server, in requests per second. It measures both at the same
// time, since they share the machine.
func saturateBoth(ctx context.Context, urls ...string) float64 {
	var wg sync.WaitGroup
	rates := make([]float64, len(urls))
	for i, url := range urls {
		wg.Go(func() { rates[i] = saturate(ctx, url+kinds()[0].path, time.Second) })
	}
	wg.Wait()
	sum := 0.0
	for _, rate := range rates {
		sum += rate
	}
	return sum / float64(len(urls))
}

// run sends the load, and shows samples, until ctx or the run ends.
func (b *busy) run(ctx context.Context, stdout io.Writer) error {
	ctx, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer stop()
	wg.Go(func() { b.load.run(ctx, time.Now()) })
	wg.Go(func() { b.protected.watch(ctx) })
	wg.Go(func() { b.bare.watch(ctx) })
	total := time.Duration(b.settings.seconds) * time.Second
	lines := 0
	return program.Every(ctx, period, total, func(elapsed time.Duration) error {
		now := b.read()
		b.stream.Publish(now)
		if elapsed%time.Second != 0 {
			return nil
		}
		text := now.line(elapsed)
		if lines%20 == 0 {
			text = heading + text
		}
		lines++
		_, err := fmt.Fprint(stdout, text)
		return err
	})
}

func (b *busy) read() sample {
	s := sample{
		At: time.Now().UnixMilli(), Handler: milliseconds(b.settings.handler), Processors: runtime.NumCPU(),
		Capacity: b.load.capacity, Load: b.load.get(), Protected: b.protected.read(), Bare: b.bare.read(),
	}
	s.Lag = max(s.Protected.lag, s.Bare.lag)
	return s
}

const heading = `
              --------------- with Spillway --------------    ----------------- without -----------------
              good   -- success, % --     p99  wait   shed    good   -- success, % --     p99   wait   gave
  time  load    /s  high impt  med  low    ms    ms     /s      /s  high impt  med  low    ms     ms   up/s
`

func (s sample) line(elapsed time.Duration) string {
	p, b := s.Protected, s.Bare
	return fmt.Sprintf("%4.0f s %4.1fx  %s %6.0f  %s %6.0f\n", elapsed.Seconds(), s.Load,
		p.columns(), p.Shed[0]+p.Shed[1]+p.Shed[2]+p.Shed[3], b.columns(), b.Late)
}

func (s side) columns() string {
	text := fmt.Sprintf("%4.0f ", s.Good)
	for _, success := range s.Success {
		text += column(success, 100, 5)
	}
	return text + column(s.P99, 1, 6) + column(s.Wait, 1, 6)
}

// column formats a figure that may be unknown.
func column(figure *float64, factor float64, width int) string {
	if figure == nil {
		return fmt.Sprintf("%*s", width, "-")
	}
	return fmt.Sprintf("%*.0f", width, factor**figure)
}
