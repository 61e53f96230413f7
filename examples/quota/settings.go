package main

import (
	"errors"
	"flag"
	"fmt"
	"math"
	"net"
	"strconv"
	"time"

	"github.com/spillway-go/spillway/examples/internal/program"
	"github.com/spillway-go/spillway/throttle/bucket"
)

// What the flags may be.
const (
	shortestRun, longestRun        = 5 * time.Second, 10 * time.Minute
	fewestProcesses, mostProcesses = 1, 16
	fewestWorkers, mostWorkers     = 1, 64
	lowestQuota, highestQuota      = 10, 500
)

// settings are what the flags say.
type settings struct {
	duration  time.Duration
	processes int
	workers   int // of each process
	quota     int // calls per second
	policy    bucket.FailurePolicy
	redis     string
	metrics   string // where the first process serves what can be seen; empty for nowhere
}

func defaults() settings {
	return settings{duration: 15 * time.Second, processes: 3, workers: 4, quota: 50, policy: bucket.LocalShare}
}

// parse returns what the arguments say, or what is wrong with them. Its error is flag.ErrHelp if they ask for help.
func parse(args []string) (settings, error) {
	s := defaults()
	flags := flag.NewFlagSet("quota", flag.ContinueOnError)
	flags.Func("duration", "", program.Duration(&s.duration, shortestRun, longestRun, "15s"))
	flags.Func("processes", "", program.Whole(&s.processes, fewestProcesses, mostProcesses, "processes"))
	flags.Func("workers", "", program.Whole(&s.workers, fewestWorkers, mostWorkers, "workers of each process"))
	flags.Func("quota", "", program.Whole(&s.quota, lowestQuota, highestQuota, "calls per second"))
	flags.Func("policy", "", s.setPolicy)
	flags.Func("redis", "", program.Address(&s.redis, "127.0.0.1:6379"))
	flags.Func("metrics", "", program.Address(&s.metrics, "127.0.0.1:9464"))
	if err := program.Parse(flags, args); err != nil {
		return s, err
	}
	return s, s.check()
}

// check refuses what does not fit together.
func (s *settings) check() error {
	if least := s.processes * partsOfReserve; s.quota < least {
		return fmt.Errorf("-quota %d is too low for %d -processes, whose share would be less than a call: want at least %d", s.quota, s.processes, least)
	}
	if least := s.leastWorkers(); s.workers < least {
		return fmt.Errorf("-workers %d cannot use up a -quota of %d, of which each process wants more than all: want at least %d",
			s.workers, s.quota, least)
	}
	if _, err := s.metricsOf(s.processes - 1); err != nil {
		return err
	}
	return nil
}

// leastWorkers is how many workers a process needs to want twice the quota.
func (s *settings) leastWorkers() int {
	perWorker := int(time.Second / answersWithin)
	return (2*s.quota + perWorker - 1) / perWorker
}

// metricsOf returns where the process in a place serves what can be seen of it: each at a port of its own, one after the other.
func (s *settings) metricsOf(place int) (string, error) {
	if s.metrics == "" {
		return "", nil
	}
	host, text, err := net.SplitHostPort(s.metrics)
	if err != nil {
		return "", err
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		return "", err
	}
	if port > 0 {
		port += place
	}
	if port > math.MaxUint16 {
		return "", fmt.Errorf("-metrics %s leaves no port for each of %d -processes: want one of at most %d",
			s.metrics, s.processes, math.MaxUint16-s.processes+1)
	}
	return net.JoinHostPort(host, strconv.Itoa(port)), nil
}

// partsOfReserve is how much smaller our bucket is than the partner's. Both are refilled alike, so what our bucket grants arrives in time at the
// partner even if it is under way for three quarters of a second, or if processes that are on their own take their shares as well.
const partsOfReserve = 4

// limit is that of our bucket.
func (s *settings) limit() bucket.Limit {
	return bucket.Limit{Capacity: int64(s.quota / partsOfReserve), Refill: int64(s.quota), Period: time.Second}
}

// patienceOfPartner is for how long a call may be under way from the grant to the partner without the partner seeing more than it allows.
func (s *settings) patienceOfPartner() time.Duration {
	return time.Second * time.Duration(s.quota-s.quota/partsOfReserve) / time.Duration(s.quota)
}

// The parts of the story, in percent of its duration. What is left is for starting, and for the store to be found again.
const (
	partOfAlone  = 18
	partOfShared = 25
	partOfDead   = 17
	partOfGone   = 20
	partOfBack   = 10
)

func (s *settings) part(percent int) time.Duration { return s.duration * time.Duration(percent) / 100 }

func (s *settings) setPolicy(text string) error {
	policies := map[string]bucket.FailurePolicy{"open": bucket.FailOpen, "closed": bucket.FailClosed, "share": bucket.LocalShare}
	policy, ok := policies[text]
	if !ok {
		return errors.New("want open, closed or share")
	}
	s.policy = policy
	return nil
}
