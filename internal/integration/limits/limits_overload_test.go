package limits

import (
	"fmt"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket"
)

// flooded checks that callers with random buckets do not take the limit off another bucket. The policy is
// the default one.
func flooded(t *testing.T, e engine, n int) {
	limited := job{Name: "limited", Mode: takeMode, Callers: 20, Limit: bucket.PerSecond(10), Pause: time.Millisecond}
	flood := job{Name: "flood", Mode: takeMode, Callers: n, Keys: anyKey, Limit: bucket.PerSecond(1000), Pause: time.Millisecond}
	f := newFleetOf(t, 1, e, fmt.Sprint("flooded", n), limited, flood)
	f.run(t, 3*time.Second)
	f.checkCounts(t, f.stop(t))
	f.checkTwice(t, limited, 0)
	t.Logf("flood: %d asked", len(f.all(t, flood.Name, byCaller)))
}

// startsCold checks that processes that start under load keep the limit. The policy is the default one.
func startsCold(t *testing.T, e engine) {
	j := job{Name: "cold", Mode: takeMode, Keys: 16, Limit: bucket.PerSecond(12), Pause: 20 * time.Millisecond}
	f := newFleet(t, e, "startscold", j)
	f.run(t, time.Second)
	f.kill(t, "c")
	f.start(t, "d")
	f.awaitLine(t, "d", "ready")
	f.run(t, time.Second)
	f.checkCounts(t, f.stop(t))
	f.checkTwice(t, j, j.Limit.Capacity/3) // the share that the killed one of three processes had used
}

// checkTwice checks that the buckets of a job grant at most twice the limit, that of the store and the
// shares of the processes, and some tokens beyond it.
func (f *fleet) checkTwice(t *testing.T, j job, beyond int64) {
	t.Helper()
	twice := f.judge(j)
	twice.limit.Capacity, twice.limit.Refill = 2*twice.limit.Capacity, 2*twice.limit.Refill
	h := f.all(t, j.Name, byCaller)
	var faults []string
	for key, own := range j.byKey(h) {
		if fault := twice.tooMuch(own, beyond); fault != "" {
			faults = append(faults, key+", compared with twice the limit: "+fault)
		}
		if fault := f.judge(j).tooMuch(own.that(fromStore), 0); fault != "" {
			faults = append(faults, key+", by the store: "+fault)
		}
	}
	report(t, faults)
	t.Logf("%s: %s", j.Name, h.bySource())
}

// report fails the test with the first of many faults.
func report(t *testing.T, faults []string) {
	t.Helper()
	if len(faults) > 0 {
		t.Errorf("%s; %d such faults", faults[0], len(faults))
	}
}

// bySource describes who decided.
func (h history) bySource() string {
	store, policy := h.that(fromStore), h.that(func(d decision) bool { return !fromStore(d) })
	return fmt.Sprintf("the store granted %d of %d, the policy %d of %d", len(store.that(granted)), len(store), len(policy.that(granted)), len(policy))
}

// byKey returns the decisions about each bucket of a job.
func (j job) byKey(h history) map[string]history {
	keys := map[string]history{}
	for _, d := range h {
		key := j.key(int(d.Who))
		keys[key] = append(keys[key], d)
	}
	return keys
}
