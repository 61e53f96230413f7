package main

import (
	"errors"
	"flag"
	"fmt"
	"math"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/spillway-go/spillway/examples/internal/program"
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
	repeat    bool          // what happens with a breaker, until Ctrl-C
	round     time.Duration // of the leader, at least
}

func defaults() settings {
	return settings{duration: 30 * time.Second, endpoints: 2000, dead: 5, agents: 3, rate: 800, seed: 1, round: shortestRound}
}

// parse returns what the arguments say, or what is wrong with them. Its error is flag.ErrHelp if they ask for help.
func parse(args []string) (settings, error) {
	s := defaults()
	flags := flag.NewFlagSet("webhooks", flag.ContinueOnError)
	flags.Func("duration", "", program.Duration(&s.duration, shortestRun, longestRun, "30s"))
	flags.Func("endpoints", "", program.Whole(&s.endpoints, fewestEndpoints, mostToReach, "endpoints"))
	flags.Func("dead", "", program.Whole(&s.dead, leastDead, mostDead, "percent"))
	flags.Func("agents", "", program.Whole(&s.agents, fewestAgents, mostAgents, "agents"))
	flags.Func("rate", "", program.Whole(&s.rate, lowestRate, highestRate, "deliveries per second"))
	flags.Func("redis", "", program.Address(&s.redis, "127.0.0.1:6379"))
	var postgres []string // refused below, because package flag repeats what it refuses
	flags.Func("postgres", "", func(dsn string) error {
		postgres = append(postgres, dsn)
		return nil
	})
	flags.Func("metrics", "", program.Address(&s.metrics, "127.0.0.1:9464"))
	flags.Func("seed", "", program.Seed(&s.seed))
	flags.BoolVar(&s.repeat, "repeat", false, "")
	if err := program.Parse(flags, args); err != nil {
		return s, err
	}
	for _, dsn := range postgres {
		if err := s.setPostgres(dsn); err != nil {
			return s, err
		}
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

// setPostgres does not repeat what it was given, which may hold a password.
func (s *settings) setPostgres(dsn string) error {
	if _, err := pgx.ParseConfig(dsn); err != nil || dsn == "" {
		return errors.New("-postgres: want a data source name such as postgres://user@127.0.0.1:5432/database")
	}
	s.postgres = dsn
	return nil
}
