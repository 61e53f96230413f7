package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"net"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/spillway-go/spillway/examples/webhooks/dispatch"
)

// What the flags may be.
const (
	shortestRun, longestRun      = 5 * time.Second, 10 * time.Minute
	fewestEndpoints, mostToReach = 100, 5000
	leastDead, mostDead          = 1, 20 // percent
	fewestAgents, mostAgents     = 2, 16
	lowestRate, highestRate      = 50, 3000
	// fewestDead is how many endpoints must die for the story to have all its parts.
	fewestDead = 5
)

// settings are what the flags say.
type settings struct {
	duration  time.Duration
	endpoints int
	dead      int // percent
	agents    int
	rate      int // deliveries per second
	redis     string
	postgres  string
	metrics   string // where to serve what can be seen; empty for nowhere
	seed      uint64
	round     time.Duration // of the leader, at least
}

func defaults() settings {
	return settings{duration: 30 * time.Second, endpoints: 2000, dead: 5, agents: 3, rate: 800, seed: 1, round: shortestRound}
}

// parse returns what the arguments say, or what is wrong with them. Its error is flag.ErrHelp if they ask for help.
func parse(args []string) (settings, error) {
	s := defaults()
	flags := flag.NewFlagSet("webhooks", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // main tells an error, without the whole usage after it
	flags.Func("duration", "", s.setDuration)
	flags.Func("endpoints", "", number(&s.endpoints, fewestEndpoints, mostToReach, "endpoints"))
	flags.Func("dead", "", number(&s.dead, leastDead, mostDead, "percent"))
	flags.Func("agents", "", number(&s.agents, fewestAgents, mostAgents, "agents"))
	flags.Func("rate", "", number(&s.rate, lowestRate, highestRate, "deliveries per second"))
	flags.Func("redis", "", address(&s.redis, "127.0.0.1:6379"))
	flags.Func("postgres", "", s.setPostgres)
	flags.Func("metrics", "", address(&s.metrics, "127.0.0.1:9464"))
	flags.Func("seed", "", s.setSeed)
	if err := flags.Parse(args); err != nil {
		return s, err
	}
	if flags.NArg() > 0 {
		return s, fmt.Errorf("%q is not a flag: flags begin with a hyphen", flags.Arg(0))
	}
	if n := s.deadEndpoints(); n < fewestDead {
		return s, fmt.Errorf("-dead %d of -endpoints %d are %d endpoints: want at least %d", s.dead, s.endpoints, n, fewestDead)
	}
	return s, s.checkRate()
}

// checkRate refuses what would leave dead endpoints alone for so long that nobody can know in time.
func (s *settings) checkRate() error {
	const deliveriesWithinPromise = 8 // to each busy endpoint
	promise := s.tempo().Promise()
	if s.gap()*deliveriesWithinPromise > promise {
		least := int(math.Ceil(float64(s.rate) * float64(s.gap()*deliveriesWithinPromise) / float64(promise)))
		return fmt.Errorf("-rate %d is too low to tell within -duration %v that %d endpoints are dead: want at least %d for these, or a longer -duration",
			s.rate, s.duration, s.deadEndpoints(), least)
	}
	return nil
}

// deadEndpoints is how many endpoints die.
func (s *settings) deadEndpoints() int { return s.endpoints * s.dead / 100 }

// lateEndpoints is how many more die in the last act.
func (s *settings) lateEndpoints() int { return s.deadEndpoints() / fewestDead }

// busyEndpoints is how many endpoints get half of all deliveries: all that die, and half as many that live.
func (s *settings) busyEndpoints() int {
	return s.deadEndpoints() + s.lateEndpoints() + s.deadEndpoints()/2
}

// gap is how long it takes until a busy endpoint gets another delivery.
func (s *settings) gap() time.Duration {
	return 2 * time.Duration(s.busyEndpoints()) * time.Second / time.Duration(s.rate)
}

// partsOfRun is how many rounds of the leader the story takes.
const partsOfRun = 80

// What a database on a busy machine can follow: a round of the leader, at least, and the time that it takes to write of a circuit that
// changes, to notify, and to write that.
const (
	shortestRound  = 150 * time.Millisecond
	roundPerChange = 1500 * time.Microsecond
)

// tempo is how fast everything has to go for the story to last about as long as it should.
func (s *settings) tempo() dispatch.Tempo {
	round := max(s.round, (s.duration / partsOfRun).Round(time.Millisecond), time.Duration(s.deadEndpoints())*roundPerChange)
	return dispatch.NewTempo(round, s.gap())
}

// workersPerAgent is how many workers an agent has: a dozen times as many as it needs while all is well.
func (s *settings) workersPerAgent() int {
	const deliveriesPerWorker, fewest = 10, 4
	return max(fewest, s.rate/deliveriesPerWorker/s.agents)
}

func (s *settings) setDuration(text string) error {
	d, err := time.ParseDuration(text)
	if err != nil || d < shortestRun || d > longestRun {
		return fmt.Errorf("want a duration such as 30s, from %v to %v", shortestRun, longestRun)
	}
	s.duration = d
	return nil
}

func (s *settings) setSeed(text string) (err error) {
	if s.seed, err = strconv.ParseUint(text, 10, 64); err != nil {
		return errors.New("want a whole number from 0 to 2^64-1")
	}
	return nil
}

// setPostgres does not repeat what it was given, which may hold a password.
func (s *settings) setPostgres(dsn string) error {
	if _, err := pgx.ParseConfig(dsn); err != nil || dsn == "" {
		return errors.New("want a data source name such as postgres://user@127.0.0.1:5432/database")
	}
	s.postgres = dsn
	return nil
}

// number returns a function that keeps a whole number from a range.
func number(to *int, low, high int, unit string) func(text string) error {
	return func(text string) error {
		n, err := strconv.Atoi(text)
		if err != nil || n < low || n > high {
			return fmt.Errorf("want %d to %d %s", low, high, unit)
		}
		*to = n
		return nil
	}
}

// address returns a function that keeps an address.
func address(to *string, example string) func(text string) error {
	return func(text string) error {
		_, port, err := net.SplitHostPort(text)
		if err != nil {
			return fmt.Errorf("want host:port, such as %s", example)
		}
		if _, err := strconv.ParseUint(port, 10, 16); err != nil {
			return errors.New("want a port from 0 to 65535")
		}
		*to = text
		return nil
	}
}
