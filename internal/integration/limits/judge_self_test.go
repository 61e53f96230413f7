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

// simulate runs a job with three agents on a store in memory, with a fake clock, and returns the answers
// that each agent got.
func simulate(t *testing.T, j job, s *faulty) []history {
	t.Helper()
	histories := make([]history, processes)
	j.Pause = 250 * time.Millisecond
	synctest.Test(t, func(t *testing.T) {
		s.Store = bucket.NewMemoryStore()
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
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

// merged returns the answers of a level from several histories.
func merged(histories []history, l level) (all history) {
	for _, h := range histories {
		all = append(all, h.that(func(d decision) bool { return d.Level.on(l) })...)
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
		want    string // the complaints: too much, too little, wrong RetryAfter
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
		"returns a RetryAfter that is too short": {func(_ *faulty, _ int64, _ store.Request, d *bucket.Decision) error {
			d.RetryAfter = (d.RetryAfter + 1) / 2
			return nil
		}, "retry kept"},
		"returns a RetryAfter that is too long": {func(_ *faulty, _ int64, _ store.Request, d *bucket.Decision) error {
			d.RetryAfter = d.RetryAfter * 3 / 2
			return nil
		}, "retry kept"},
	} {
		for _, j := range append(contested(engine{})[1:], retryJob()) {
			t.Run(name+", "+j.Name, func(t *testing.T) {
				for complaint, got := range verdict(j, simulate(t, j, &faulty{corrupt: m.corrupt})) {
					excused := (complaint == "retry" || complaint == "kept") && (m.want == "much" || m.want == "little")
					if want := strings.Contains(m.want, complaint); (got != "") != want && !excused {
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
	switch {
	case j.Mode == retryMode:
		var faults []string
		for _, own := range histories {
			wrong, _, _ := judge.retriesHeld(own.that(func(d decision) bool { return d.Level.on(byCaller) }))
			faults = append(faults, wrong...)
		}
		return map[string]string{"kept": strings.Join(faults, "; ")}
	case j.Limit.Algorithm == bucket.Fixed:
		return map[string]string{
			"much": judge.fixedTooMuch(h), "little": judge.fixedUsed(h).tooLittle(0.99), "retry": strings.Join(judge.fixedRetries(h), "; "),
		}
	}
	faults, _, _ := judge.retries(h)
	return map[string]string{
		"much": judge.tooMuch(h, 0), "little": judge.used(h).tooLittle(0.99), "retry": strings.Join(faults, "; "),
	}
}

// TestJudges_Policies applies the checks of one policy to another.
func TestJudges_Policies(t *testing.T) {
	if testing.Short() {
		t.Skip("tests the judges, not a store")
	}
	dead := func(*faulty, int64, store.Request, *bucket.Decision) error { return errors.New("no answer") }
	for policy, want := range []string{bucket.FailClosed: "not open", bucket.FailOpen: "not closed share", bucket.LocalShare: "not closed not open"} {
		j := policyJobs()[policy]
		j.Policy = bucket.FailurePolicy(policy)
		histories := simulate(t, j, &faulty{corrupt: dead})
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
