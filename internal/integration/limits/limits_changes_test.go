package limits

import (
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket"
)

// changing returns jobs whose limit changes. Two processes have different limits for most of the time.
func changing() []job {
	fixed := func(n int64, period time.Duration) bucket.Limit {
		return bucket.Limit{Capacity: n, Period: period, Algorithm: bucket.Fixed}
	}
	var jobs []job
	for _, j := range []job{
		{Name: "burst", Limit: bucket.PerSecond(10).WithBurst(1000), Then: bucket.PerSecond(10)},
		{Name: "rate", Limit: bucket.Per(100, time.Minute), Then: bucket.Per(100, time.Second)},
		{Name: "period", Limit: fixed(100, time.Hour), Then: fixed(10, time.Second)},
		{Name: "algorithm", Limit: bucket.Per(100, time.Minute), Then: fixed(100, time.Minute)},
		{Name: "slower", Limit: bucket.PerSecond(100), Then: bucket.PerSecond(50)},
		{Name: "half", Limit: bucket.Per(600, time.Minute), Then: bucket.Per(300, time.Minute)},
	} {
		j.Mode, j.Callers, j.Policy, j.Timeout, j.Pause = takeMode, 4, bucket.FailClosed, longTimeout, 5*time.Millisecond
		jobs = append(jobs, j)
	}
	return jobs
}

// reversed returns the jobs with the opposite changes.
func reversed(jobs []job) []job {
	for i, j := range jobs {
		jobs[i].Name, jobs[i].Limit, jobs[i].Then = j.Name+" reversed", j.Then, j.Limit
	}
	return jobs
}

// The times between the changes of the two processes.
const (
	beforeChange = 500 * time.Millisecond
	duringChange = 3 * time.Second
	afterChange  = 2 * time.Second
)

// changes checks buckets while one of two processes has their new limits already, and afterwards.
func changes(t *testing.T, e engine, jobs []job) {
	f := newFleetOf(t, 2, e, "changes "+jobs[0].Name, jobs...)
	f.run(t, beforeChange)
	f.setLimits(t, "b")
	f.run(t, duringChange)
	f.setLimits(t, "a")
	f.run(t, afterChange)
	f.checkCounts(t, f.stop(t))
	f.checkUnfailing(t)
	for _, j := range jobs {
		judge, h := f.judge(j), f.all(t, j.Name, byCaller)
		for _, fault := range judge.change(h) {
			t.Errorf("%s: %s", j.Name, fault)
		}
		if fault := judge.tooMuch(f.all(t, j.Name, byStore), f.givenBack(t, j)); fault != "" {
			t.Errorf("%s: the store answered %s", j.Name, fault)
		}
	}
}
