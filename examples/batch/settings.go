package main

import (
	"flag"
	"fmt"
	"math"
	"time"

	"github.com/spillway-go/spillway/examples/internal/program"
	"github.com/spillway-go/spillway/examples/simulate/plot"
	"github.com/spillway-go/spillway/throttle/bucket"
)

// What the flags may be.
const (
	shortestRun, longestRun         = 5 * time.Second, 10 * time.Minute
	fewestWorkers, mostWorkers      = 1, 512
	lowestCapacity, highestCapacity = 50, 1000
	usualCapacity                   = 400
)

// settings are what the flags say.
type settings struct {
	duration time.Duration
	workers  int
	capacity int    // units per second, before the table grows; if no flag says, what fits the duration
	plot     string // where to; empty for a file in a new temporary folder
	metrics  string // where to serve what can be seen; empty for nowhere
	seed     uint64
	repeat   bool // the acts with a backoff, until Ctrl-C
}

func defaults() settings {
	return settings{duration: 20 * time.Second, workers: 64, seed: 1}
}

// parse returns what the arguments say, or what is wrong with them. Its error is flag.ErrHelp if they ask for help.
func parse(args []string) (settings, error) {
	s := defaults()
	flags := flag.NewFlagSet("batch", flag.ContinueOnError)
	flags.Func("duration", "", program.Duration(&s.duration, shortestRun, longestRun, "20s"))
	flags.Func("workers", "", program.Whole(&s.workers, fewestWorkers, mostWorkers, "workers"))
	flags.Func("capacity", "", program.Whole(&s.capacity, lowestCapacity, highestCapacity, "units a second"))
	flags.Func("plot", "", s.setPlot)
	flags.Func("metrics", "", program.Address(&s.metrics, "127.0.0.1:9464"))
	flags.Func("seed", "", program.Seed(&s.seed))
	flags.BoolVar(&s.repeat, "repeat", false, "")
	if err := program.Parse(flags, args); err != nil {
		return s, err
	}
	if s.capacity == 0 {
		s.capacity = s.fitting()
	}
	return s, s.check()
}

// fitting is the capacity that is usual, or more for a story that is too short to find such a rate.
func (s *settings) fitting() int {
	fit := settings{capacity: usualCapacity}
	for fit.capacity < highestCapacity && fit.leastDuration() > s.duration {
		fit.capacity += 50
	}
	return fit.capacity
}

// check refuses what does not fit together.
func (s *settings) check() error {
	if least := s.leastWorkers(); s.workers < least {
		return fmt.Errorf("-workers %d cannot write what a table of -capacity %d bears once it has grown: want at least %d",
			s.workers, s.capacity, least)
	}
	if least := s.leastDuration(); s.duration < least {
		return fmt.Errorf("-duration %v is too short to find the rates of a table of -capacity %d: want at least %v", s.duration, s.capacity, least)
	}
	return nil
}

// leastWorkers is how many are needed to spend all that may be, and a half more.
func (s *settings) leastWorkers() int {
	busy := float64(s.budget().Refill) * (shortestWrite + longestWrite).Seconds() / 2
	return int(math.Ceil(1.5 * busy))
}

// Multiples of the capacity.
const (
	small    = 1   // what the table bears as ordered
	growth   = 2   // what the table becomes by itself
	spending = 2.5 // what the account may spend, whatever the table bears
)

// budget is what the account may spend.
func (s *settings) budget() bucket.Limit {
	spend := int64(spending * float64(s.capacity))
	return bucket.Limit{Capacity: max(1, spend/10), Refill: spend, Period: time.Second}
}

// The parts of the story, in percent of its duration.
const (
	partOfNone     = 7
	partOfSleeper  = 10
	partOfSmall    = 20
	partOfGrown    = 24
	partOfHalved   = 17
	partOfOnDemand = 22
)

func (s *settings) part(percent int) time.Duration { return s.duration * time.Duration(percent) / 100 }

// leastDuration is how long the story must be for each act with a backoff to have as much time left as finding the rate may take.
func (s *settings) leastDuration() time.Duration {
	least := shortestRun
	for _, act := range []struct {
		part    int
		finding time.Duration
	}{
		{partOfSmall, s.finding(small, small)},
		{partOfGrown, s.finding(small, growth)},
		{partOfHalved, s.finding(small, small)},
		{partOfOnDemand, s.finding(small, spending)},
	} {
		least = max(least, 2*act.finding*100/time.Duration(act.part))
	}
	return (least + time.Second - 1).Truncate(time.Second)
}

func (s *settings) setPlot(text string) error {
	s.plot = text
	return plot.CheckPath(text)
}
