package limits

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/spillway-go/spillway/internal/integration/program"
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

// losesNode checks that a cluster that loses one of its nodes keeps the limits on the others. The policy
// is the default one.
func losesNode(t *testing.T, lose func(*program.RedisServer)) {
	nodes := program.RedisCluster(t, 3)
	addresses := make([]string, len(nodes))
	for i, n := range nodes {
		addresses[i] = n.Address
	}
	e := engine{Name: "redis", Address: strings.Join(addresses, ","), Tick: time.Microsecond}
	j := job{Name: "key", Mode: takeMode, Callers: 30, Keys: 30, Limit: bucket.PerSecond(6), Timeout: time.Second, Pause: 50 * time.Millisecond}
	f := newFleet(t, e, "losesnode", j)
	f.run(t, time.Second)
	lost := fmt.Sprint(nodes[2].Do(t, "KEYS", "*"))
	from := time.Now().UnixNano()
	lose(nodes[2])
	f.run(t, 3*time.Second)
	f.checkCounts(t, f.stop(t))
	var healthy, rest history
	var faults []string
	for key, own := range j.byKey(f.all(t, j.Name, byCaller)) {
		if strings.Contains(lost, ":"+key+" ") || strings.Contains(lost, ":"+key+"]") {
			rest = append(rest, own.asked(from)...)
			continue
		}
		healthy = append(healthy, own.asked(from)...)
		if fault := f.judge(j).tooMuch(own, 0); fault != "" {
			faults = append(faults, key+", on another node: "+fault)
		}
	}
	report(t, faults)
	if n := len(healthy.that(func(d decision) bool { return d.Outcome == answered && fromStore(d) })); n == 0 || n < len(healthy)*99/100 {
		t.Errorf("buckets on the other nodes: the store decided %d of %d want 99 %%", n, len(healthy))
	}
	f.checkTwice(t, j, 0)
	t.Logf("other nodes: %s; lost node: %s", healthy.bySource(), rest.bySource())
}
