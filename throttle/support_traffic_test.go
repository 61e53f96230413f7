package throttle_test

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/spillway-go/spillway/throttle"
)

// server is a backend that serves so many calls per second, and rejects the others. The zero server is down.
type server struct {
	perSecond int
	room      float64 // for calls, now
	filled    time.Time

	sent, accepted int // calls that arrived, and those that were served
}

func (s *server) serve(context.Context) error {
	now, rate := time.Now(), float64(s.perSecond)
	s.room = min(s.room+rate*now.Sub(s.filled).Seconds(), rate)
	s.filled = now
	s.sent++
	if s.room < 1 {
		return errBusy
	}
	s.room--
	s.accepted++
	return nil
}

// traffic sends perSecond calls of each priority to the server for so long, evenly and in any order, and returns how many
// of each were served. It belongs into a synctest bubble.
func traffic(th *throttle.Throttle, s *server, perSecond int, d time.Duration, priorities ...throttle.Priority) map[throttle.Priority]int {
	good := map[throttle.Priority]int{}
	dice := rand.New(rand.NewPCG(3, 4))
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(time.Second / time.Duration(perSecond)) {
		for _, i := range dice.Perm(len(priorities)) {
			if th.Do(context.Background(), priorities[i], s.serve) == nil {
				good[priorities[i]]++
			}
		}
	}
	return good
}

// The tests in the bulwark files hold what Spillway's users coming from Bulwark rely on: one test for each thing that its
// documentation says, the departures included, which say Departure.

// seeded returns draws that are random, and the same in every run.
func seeded() func() float64 { return rand.New(rand.NewPCG(1, 2)).Float64 }
