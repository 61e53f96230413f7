package limits

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket"
	"github.com/spillway-go/spillway/throttle/bucket/store"
)

// corruption is a mistake of a store. It changes the n-th decision of a correct store.
type corruption func(s *faulty, n int64, r store.Request, d *bucket.Decision) error

// faulty is a store with a mistake.
type faulty struct {
	store.Store

	takes   atomic.Int64
	corrupt corruption
}

func (s *faulty) Take(ctx context.Context, r store.Request) (bucket.Decision, error) {
	d, err := s.Store.Take(ctx, r)
	if s.corrupt != nil && err == nil {
		err = s.corrupt(s, s.takes.Add(1), r, &d)
	}
	return d, err
}

// simulation is a run of agents with a fake clock.
type simulation struct {
	agents  int
	length  time.Duration
	happens func([]*agent) // meanwhile
}

// short is a simulation of three agents.
func short() simulation { return simulation{processes, 3 * time.Second, func([]*agent) {}} }

// simulate runs a job on a store in memory, and returns the answers that each agent got.
func simulate(t *testing.T, j job, s *faulty, of simulation) []history {
	t.Helper()
	histories, agents := make([]history, of.agents), make([]*agent, of.agents)
	synctest.Test(t, func(t *testing.T) {
		s.Store = bucket.NewMemoryStore()
		ctx, cancel := context.WithTimeout(t.Context(), of.length)
		defer cancel()
		var all sync.WaitGroup
		for i := range histories {
			a := &agent{order: order{Agent: fmt.Sprint(i), Bucket: "simulated", Jobs: []job{j}, Replicas: processes}}
			agents[i] = a
			log := filepath.Join(t.TempDir(), "journal")
			file, err := os.Create(log)
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			a.journal = &journal{file: file}
			if err := a.use(s); err != nil {
				t.Fatal(err)
			}
			all.Go(func() {
				if err := a.work(ctx); err != nil {
					t.Error(err)
				}
				h, err := readJournal(log)
				if err != nil {
					t.Error(err)
				}
				histories[i] = h
			})
		}
		of.happens(agents)
		all.Wait()
	})
	return histories
}

// merged returns the answers of a level from several histories.
func merged(histories []history, l level) (all history) {
	for _, h := range histories {
		all = append(all, h.that(func(d decision) bool { return d.Level == l })...)
	}
	return all
}

// TestJudges runs stores with one mistake each, and expects the complaints about that mistake only. It
// simulates, so it needs no server.
func TestJudges(t *testing.T) {
	if testing.Short() {
		t.Skip("tests the judges, not a store")
	}
	for name, m := range map[string]struct {
		corrupt corruption
		want    string // the complaint: too much or too little
	}{
		"honest": {nil, ""},
		"grants a token twice": {func(s *faulty, n int64, r store.Request, d *bucket.Decision) error {
			if d.Granted > 0 && n%5 == 0 {
				return s.Return(context.Background(), r.Key, r.Limit, 1)
			}
			return nil
		}, "much"},
		"loses a token": {func(_ *faulty, n int64, r store.Request, d *bucket.Decision) error {
			if d.Granted > 0 && n%5 == 0 {
				*d = bucket.Decision{Limit: d.Limit, RetryAfter: r.Limit.Interval()}
			}
			return nil
		}, "little"},
		"forgets a bucket": {func(s *faulty, n int64, r store.Request, _ *bucket.Decision) error {
			if n == 1000 {
				return s.Reset(context.Background(), r.Key)
			}
			return nil
		}, "much"},
	} {
		for _, j := range contested(engine{})[1:] {
			j.Pause = 250 * time.Millisecond
			t.Run(name+", "+j.Name, func(t *testing.T) {
				for complaint, got := range verdict(j, simulate(t, j, &faulty{corrupt: m.corrupt}, short())) {
					if want := m.want == complaint; (got != "") != want {
						t.Errorf("%s: got %.300q want a complaint: %v", complaint, got, want)
					}
				}
			})
		}
	}
}

// verdict returns the complaints by kind.
func verdict(j job, histories []history) map[string]string {
	h, judge := merged(histories, byCaller), judge{limit: j.Limit}
	if j.Limit.Algorithm == bucket.Fixed {
		return map[string]string{"much": judge.fixedTooMuch(h), "little": judge.fixedUsed(h, 0).tooLittle(0.99)}
	}
	return map[string]string{"much": judge.tooMuch(h, 0), "little": judge.used(h).tooLittle(0.99)}
}

// TestJudges_Policies applies the checks of one policy to another.
func TestJudges_Policies(t *testing.T) {
	if testing.Short() {
		t.Skip("tests the judges, not a store")
	}
	dead := func(*faulty, int64, store.Request, *bucket.Decision) error { return errors.New("no answer") }
	for policy, want := range []string{bucket.FailClosed: "not open", bucket.FailOpen: "not closed share", bucket.LocalShare: "not closed not open"} {
		j := policyJobs(policyTimeout)[policy]
		j.Policy, j.Pause = bucket.FailurePolicy(policy), 250*time.Millisecond
		histories := simulate(t, j, &faulty{corrupt: dead}, short())
		h := merged(histories, byCaller)
		for complaint, got := range map[string]string{
			"not closed": h.notClosed(), "not open": h.notOpen(), "share": judge{limit: j.Limit}.aboveShare(merged(histories[:1], byCaller)),
		} {
			if (got != "") != strings.Contains(want, complaint) {
				t.Errorf("%v, %s: got %q want the complaints %q", j.Policy, complaint, got, want)
			}
		}
	}
}

// TestJudges_Changes plants answers to requests that were asked with the limit before or after a change.
func TestJudges_Changes(t *testing.T) {
	grant := func(then bool, from, to time.Duration, tokens int32) decision {
		base := int64(1_800_000_000_000_000_000) // on the border of an hour
		return decision{Outcome: answered, Then: then, Wanted: tokens, Granted: tokens, Asked: base + int64(from), Answered: base + int64(to)}
	}
	deny := func(then bool, at time.Duration) decision {
		d := grant(then, at, at, 0)
		d.Wanted = 1
		return d
	}
	const s = time.Second
	continuous, fixed := bucket.PerSecond(10).WithBurst(100), bucket.Limit{Capacity: 20, Period: time.Second, Algorithm: bucket.Fixed}
	for name, c := range map[string]struct {
		limit, then bucket.Limit
		h           history
		want        bool
	}{
		"the loosest limit": {continuous, bucket.PerSecond(10), history{grant(false, 0, s, 100), grant(true, s, 2*s, 20)}, false},
		"one more":          {continuous, bucket.PerSecond(10), history{grant(false, 0, s, 100), grant(true, s, 2*s, 21)}, true},
		"the capacity of one and the rate of the other": {
			bucket.PerSecond(100), bucket.Per(200, time.Minute), history{grant(false, 0, s, 200), grant(true, s, 2*s, 200)}, false,
		},
		"by two processes at once": {continuous, bucket.PerSecond(10), history{grant(true, 0, 0, 9), grant(false, 0, 0, 100)}, true},
		"all before the new limit": {
			bucket.PerSecond(10), continuous, history{grant(false, 0, 0, 11), grant(true, s, s, 5)}, true,
		},
		"all after the old limit": {
			continuous, bucket.PerSecond(10), history{grant(false, 0, 0, 90), grant(true, s, s, 11)}, true,
		},
		"perhaps before the end of the old limit": {
			continuous, bucket.PerSecond(10), history{grant(false, 0, s, 90), grant(true, s/2, s, 11)}, false,
		},
		"a killed process with the old limit": {
			continuous, bucket.PerSecond(10), history{{Outcome: pending, Wanted: 1, Asked: 1}, grant(true, s, s, 11)}, false,
		},
		"both algorithms":     {bucket.PerSecond(10), fixed, history{grant(false, 0, s/2, 25), grant(true, 0, s/2, 25)}, false},
		"one more of both":    {bucket.PerSecond(10), fixed, history{grant(false, 0, s/2, 25), grant(true, 0, s/2, 26)}, true},
		"a period afterwards": {continuous, fixed, history{grant(false, 0, 0, 1), grant(true, s, s+s/2, 21)}, true},
		"the new limit is used": {
			continuous, bucket.PerSecond(10), history{grant(false, 0, 0, 1), deny(true, s), grant(true, s, 3*s, 20), deny(true, 3*s)}, false,
		},
		"the new limit is not used": {
			continuous, bucket.PerSecond(10), history{grant(false, 0, 0, 1), deny(true, s), deny(true, s+s/4), deny(true, 3*s)}, true,
		},
		"a new period is not used": {continuous, fixed, history{grant(false, 0, s/2, 1), grant(true, s, s, 10), grant(true, 2*s, 2*s, 10), deny(true, 2*s+s/2)}, true},
	} {
		faults := judge{limit: c.limit.WithDefaults(), then: c.then.WithDefaults()}.change(c.h)
		if (len(faults) > 0) != c.want {
			t.Errorf("%s: got %q want a complaint: %v", name, faults, c.want)
		}
	}
}

// TestJudges_ManyGrants has so many grants that the judge joins them.
func TestJudges_ManyGrants(t *testing.T) {
	j := judge{limit: bucket.PerSecond(10_000)}
	var h history
	for _, tokens := range []int32{1, 2} {
		h = h[:0]
		for at := range int64(50_000) {
			at *= int64(j.limit.Interval())
			h = append(h, decision{Outcome: answered, Granted: tokens, Asked: at, Answered: at})
		}
		if fault := j.tooMuch(h, 0); (fault != "") != (tokens > 1) {
			t.Errorf("%d for each: got complaint %q", tokens, fault)
		}
	}
}
