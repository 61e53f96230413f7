package limits

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket"
)

// faulty is a store that does what a func does with what a good one has answered, after some time.
type faulty struct {
	bucket.Store

	slow    bool
	takes   atomic.Int64
	corrupt func(s *faulty, n int64, r bucket.Request, d *bucket.Decision) error
}

func (s *faulty) Take(ctx context.Context, r bucket.Request) (bucket.Decision, error) {
	n := s.takes.Add(1)
	late := func() {
		if s.slow {
			<-time.After(time.Duration(rand.IntN(10)) * time.Millisecond) // any sequence of delays is as good
		}
	}
	late()
	d, err := s.Store.Take(ctx, r)
	if s.corrupt != nil && err == nil {
		err = s.corrupt(s, n, r, &d)
	}
	late()
	return d, err
}

// Faults of stores.

func generous(s *faulty, n int64, r bucket.Request, d *bucket.Decision) error {
	if d.Granted > 0 && n%5 == 0 { // the same token is granted twice
		return s.Return(context.Background(), r.Key, r.Limit, 1)
	}
	return nil
}

func stingy(_ *faulty, n int64, r bucket.Request, d *bucket.Decision) error {
	if d.Granted > 0 && n%5 == 0 { // the token is lost
		*d = bucket.Decision{Limit: d.Limit, RetryAfter: r.Limit.Interval()}
	}
	return nil
}

func hasty(_ *faulty, _ int64, _ bucket.Request, d *bucket.Decision) error {
	d.RetryAfter = (d.RetryAfter + 1) / 2 // not 0, or he who comes again would do so without end
	return nil
}

func dilatory(_ *faulty, _ int64, _ bucket.Request, d *bucket.Decision) error {
	d.RetryAfter = d.RetryAfter * 3 / 2
	return nil
}

func forgetful(s *faulty, n int64, r bucket.Request, _ *bucket.Decision) error {
	if n == 1000 {
		return s.Reset(context.Background(), r.Key)
	}
	return nil
}

func dead(*faulty, int64, bucket.Request, *bucket.Decision) error {
	return errors.New("no answer")
}

// simulate lets three agents do a job for a while, on a store in memory, in a time that does not pass, and returns what each was answered.
func simulate(t *testing.T, j job, s *faulty, d time.Duration) []history {
	t.Helper()
	histories := make([]history, processes)
	j.Pace = 250 * time.Millisecond
	synctest.Test(t, func(t *testing.T) {
		s.Store = bucket.NewMemoryStore()
		ctx, cancel := context.WithTimeout(t.Context(), d)
		defer cancel()
		var all sync.WaitGroup
		for i := range histories {
			a := &agent{order: order{Agent: fmt.Sprint(i), Bucket: "simulated", Jobs: []job{j}}}
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
		all.Wait()
	})
	return histories
}

// told is what callers, or the store's limiters, were answered.
func told(histories []history, l level) (all history) {
	for _, h := range histories {
		all = append(all, h.that(func(d decision) bool { return d.Level.on(l) })...)
	}
	return all
}

// verdict is what judges find wrong with a history, by their complaints.
type verdict map[string]string

// lacks reports whether one of some complaints is not there.
func (v verdict) lacks(complaints []string) bool {
	return slices.ContainsFunc(complaints, func(complaint string) bool { return v[complaint] == "" })
}

// check wants some complaints to be there, and others not to be.
func (v verdict) check(t *testing.T, must, never []string) {
	t.Helper()
	for _, complaint := range must {
		if v[complaint] == "" {
			t.Errorf("%s: got no complaint, want one", complaint)
		}
	}
	for _, complaint := range never {
		if v[complaint] != "" {
			t.Errorf("%s: got %.300s, want no complaint", complaint, v[complaint])
		}
	}
}

// A mistake of a store, and who must complain of it, and who must not.
type mistake struct {
	corrupt     func(*faulty, int64, bucket.Request, *bucket.Decision) error
	must, never []string
}

func TestJudgesOfContinuousBuckets(t *testing.T) {
	for name, m := range map[string]mistake{
		"honest":    {nil, nil, []string{"much", "burst", "much of the store's", "little", "little of the store's", "retry"}},
		"generous":  {generous, []string{"much", "much of the store's"}, []string{"little"}},
		"stingy":    {stingy, []string{"little", "little of the store's"}, []string{"much"}},
		"hasty":     {hasty, []string{"retry"}, []string{"much", "little"}},
		"dilatory":  {dilatory, []string{"retry"}, []string{"much", "little"}},
		"forgetful": {forgetful, []string{"much", "much of the store's"}, []string{"burst", "little"}},
	} {
		for _, j := range contested(engine{})[:2] {
			for _, slow := range []bool{false, true} {
				if slow && !j.OneByOne {
					continue // what is asked together takes longer than a token, and so tells less
				}
				t.Run(fmt.Sprintf("%s, %s, slow %v", name, j.Name, slow), func(t *testing.T) {
					v := judged(t, j, m, slow)
					for again := 0; slow && again < 3 && v.lacks(m.must); again++ {
						v = judged(t, j, m, slow) // delays at random leave nothing that proves a mistake once in a hundred times
					}
					v.check(t, m.must, m.never)
				})
			}
		}
	}
}

// judged is what the judges find wrong with a simulation of a Continuous bucket.
func judged(t *testing.T, j job, m mistake, slow bool) verdict {
	t.Helper()
	histories := simulate(t, j, &faulty{corrupt: m.corrupt, slow: slow}, 3*time.Second)
	h, store, judge := told(histories, byCaller), told(histories, byStore), judge{limit: j.Limit}
	faults, early, late := judge.retries(h)
	if u := judge.used(h); u.budget < j.enough() || early == 0 || late == 0 {
		t.Errorf("%v, %d and %d retries: too little to judge", u, early, late)
	}
	return verdict{
		"much": judge.tooMuch(h, 0), "burst": judge.tooMuch(h, j.Limit.Capacity), "little": judge.used(h).tooLittle(0.99),
		"much of the store's": judge.tooMuch(store, 0), "little of the store's": judge.used(store).tooLittle(0.99),
		"retry": strings.Join(faults, "; "),
	}
}

func TestJudgesOfFixedBuckets(t *testing.T) {
	for name, m := range map[string]mistake{
		"honest":    {nil, nil, []string{"much", "little", "retry"}},
		"generous":  {generous, []string{"much"}, []string{"little", "retry"}},
		"stingy":    {stingy, []string{"little"}, []string{"much"}},
		"hasty":     {hasty, []string{"retry"}, []string{"much", "little"}},
		"dilatory":  {dilatory, []string{"retry"}, []string{"much", "little"}},
		"forgetful": {forgetful, []string{"much"}, []string{"little", "retry"}},
	} {
		t.Run(name, func(t *testing.T) {
			j := contested(engine{})[2]
			h, judge := told(simulate(t, j, &faulty{corrupt: m.corrupt}, 3*time.Second), byCaller), judge{limit: j.Limit}
			verdict{
				"much": judge.fixedTooMuch(h), "little": judge.fixedUsed(h).tooLittle(0.99), "retry": strings.Join(judge.fixedRetries(h), "; "),
			}.check(t, m.must, m.never)
			if u := judge.fixedUsed(h); u.budget < j.enough() {
				t.Errorf("%v: too little to judge", u)
			}
		})
	}
}

func TestJudgesOfWhoComesAgain(t *testing.T) {
	for name, m := range map[string]mistake{
		"honest":   {nil, nil, []string{"kept"}},
		"hasty":    {hasty, []string{"kept"}, nil},
		"dilatory": {dilatory, []string{"kept"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			j := patientJob()
			var faults []string
			for _, h := range simulate(t, j, &faulty{corrupt: m.corrupt}, 3*time.Second) {
				wrong, before, after := judge{limit: j.Limit}.kept(h.that(func(d decision) bool { return d.Level.on(byCaller) }))
				faults = append(faults, wrong...)
				if len(wrong) == 0 && (before == 0 || after == 0) {
					t.Errorf("%d came too early and %d in time: too little to judge", before, after)
				}
			}
			verdict{"kept": strings.Join(faults, "; ")}.check(t, m.must, m.never)
		})
	}
}

// TestJudgesOfPolicies judges each policy as if it were another.
func TestJudgesOfPolicies(t *testing.T) {
	for _, c := range []struct {
		policy      bucket.FailurePolicy
		must, never []string
	}{
		{bucket.FailClosed, []string{"not open"}, []string{"not closed", "much", "share"}},
		{bucket.FailOpen, []string{"not closed", "much", "share"}, []string{"not open"}},
		{bucket.LocalShare, []string{"not closed", "not open"}, []string{"much", "share"}},
	} {
		t.Run(c.policy.String(), func(t *testing.T) {
			j := forsaken()[c.policy]
			j.Policy = c.policy
			histories := simulate(t, j, &faulty{corrupt: dead}, 3*time.Second)
			h, judge := told(histories, byCaller), judge{limit: j.Limit}
			verdict{
				"not closed": h.notClosed(), "not open": h.notOpen(), "much": judge.tooMuch(h, 0),
				"share": judge.tooLargeAShare(told(histories[:1], byCaller)),
			}.check(t, c.must, c.never)
			if c.policy == bucket.LocalShare { // the whole limit is more than a share
				verdict{"share": judge.tooLargeAShare(h)}.check(t, []string{"share"}, nil)
			}
		})
	}
}

// TestJudgeOfLines lets waiters be served too seldom, or not at all.
func TestJudgeOfLines(t *testing.T) {
	serve := func(order ...uint8) (h history) {
		for i, who := range order {
			h = append(h, decision{Outcome: answered, Who: who, Granted: 1, Answered: int64(i)})
		}
		return h
	}
	for name, c := range map[string]struct {
		h    history
		want bool
	}{
		"in turn":    {serve(0, 1, 2, 0, 1, 2, 0, 1, 2), false},
		"too seldom": {serve(0, 1, 2, 0, 1, 2, 0, 1), true},
		"failed":     {append(serve(0, 1, 2, 0, 1, 2, 0, 1), decision{Outcome: failed, Who: 2, Answered: 9}), true},
		"no answer":  {append(serve(0, 1, 2, 0, 1, 2, 0, 1), decision{Outcome: pending, Who: 2}), true},
	} {
		if got := starved(c.h, 3, 3); (got != "") != c.want {
			t.Errorf("%s: got %q, want a complaint: %v", name, got, c.want)
		}
	}
}

// TestWhatIsNotKnownIsNoFault: who was not answered may have been granted a token, at any time between asking and now.
func TestWhatIsNotKnownIsNoFault(t *testing.T) {
	second := int64(time.Second)
	judge := judge{limit: bucket.Limit{Capacity: 1, Refill: 1, Period: time.Second}.WithDefaults()}
	grant := func(asked, answer int64) decision {
		return decision{Outcome: answered, Wanted: 1, Granted: 1, Asked: asked, Answered: answer}
	}
	for name, c := range map[string]struct {
		h    history
		want bool
	}{
		"apart":           {history{grant(0, 1), grant(second, second+1)}, false},
		"perhaps apart":   {history{grant(0, 1), grant(2, second)}, false},
		"not apart":       {history{grant(0, 1), grant(2, second-1)}, true},
		"long ago":        {history{grant(0, 1), grant(9*second, 9*second+1), grant(9*second+2, 9*second+3)}, true},
		"one not known":   {history{grant(0, 1), {Outcome: pending, Wanted: 1, Asked: 2}}, false},
		"one that failed": {history{grant(0, 1), {Outcome: failed, Wanted: 1, Asked: 2, Answered: 3}}, false},
	} {
		if got := judge.tooMuch(c.h, 0); (got != "") != c.want {
			t.Errorf("%s: got %q, want a complaint: %v", name, got, c.want)
		}
	}
}
