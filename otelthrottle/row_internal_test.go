package otelthrottle

import (
	"context"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/backoff"
	"github.com/spillway-go/spillway/throttle/breaker"
	"github.com/spillway-go/spillway/throttle/bucket"
	"github.com/spillway-go/spillway/throttle/control"
	"github.com/spillway-go/spillway/throttle/retry"
)

// SeriesOf returns the value of every series, and the count for those of a histogram.
func SeriesOf(t testing.TB, metrics []metricdata.Metrics) map[string]any {
	t.Helper()
	all := map[string]any{}
	for _, m := range metrics {
		switch data := m.Data.(type) {
		case metricdata.Sum[int64]:
			addPoints(t, all, m.Name, data.DataPoints)
		case metricdata.Gauge[int64]:
			addPoints(t, all, m.Name, data.DataPoints)
		case metricdata.Gauge[float64]:
			addPoints(t, all, m.Name, data.DataPoints)
		case metricdata.Histogram[float64]:
			for _, p := range data.DataPoints {
				all[Series(m.Name, p.Attributes)] = int64(p.Count)
			}
		default:
			t.Fatalf("%s: got data of type %T, which this test does not know", m.Name, m.Data)
		}
	}
	return all
}

func addPoints[N int64 | float64](t testing.TB, all map[string]any, name string, points []metricdata.DataPoint[N]) {
	t.Helper()
	for _, p := range points {
		key := Series(name, p.Attributes)
		if _, twice := all[key]; twice {
			t.Errorf("got %s twice in one collection, want it once", key)
		}
		all[key] = p.Value
	}
}

// Series returns the name of a series.
func Series(metric string, set attribute.Set) string {
	return metric + "{" + set.Encoded(attribute.DefaultEncoder()) + "}"
}

func page(t testing.TB, reader *sdkmetric.ManualReader) (lines []string) {
	t.Helper()
	var rm metricdata.ResourceMetrics
	if err := reader.Collect(context.Background(), &rm); err != nil {
		t.Fatalf("Collect: got error %v want nil", err)
	}
	for _, scope := range rm.ScopeMetrics {
		for key, value := range SeriesOf(t, scope.Metrics) {
			lines = append(lines, fmt.Sprint(key, " ", value))
		}
	}
	return lines
}

// wantPage compares all series with those of a file.
func wantPage(t *testing.T, reader *sdkmetric.ManualReader, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Split(strings.TrimSpace(string(text)), "\n")
	got := page(t, reader)
	for _, line := range got {
		if !slices.Contains(want, line) {
			t.Errorf("got  %s", line)
		}
	}
	for _, line := range want {
		if !slices.Contains(got, line) {
			t.Errorf("want %s", line)
		}
	}
}

// TestSeries_new has a new member of each system, with everything that can be reported of one.
func TestSeries_new(t *testing.T) {
	tel, reader := adapter(t, WithBreakerDetail(2), WithProcess(throttle.ProcessorStats{}))
	throttle.Must(throttle.New(throttle.Config{Name: "plain", Priorities: 2, Policy: throttle.SRE, Hooks: tel.Hooks()}))
	throttle.Must(throttle.New(throttle.Config{Name: "tiered", Priorities: 1, Slow: time.Second, Hooks: tel.Hooks()}))
	newBreaker(tel)
	throttle.Must(breaker.New(breaker.Config{Name: "closed", OnStale: breaker.FailClosed, Hooks: tel.BreakerHooks()}))
	newBucket(tel)
	newBackoff(tel)
	newRetrier(tel)
	newControl(tel)
	wantPage(t, reader, "testdata/series_new.txt")
}

func newThrottle(tel *Telemetry) *throttle.Throttle {
	return throttle.Must(throttle.New(throttle.Config{Name: "db", Priorities: 2, Hooks: tel.Hooks()}))
}

func newBreaker(tel *Telemetry) *breaker.Manager {
	return throttle.Must(breaker.New(breaker.Config{Name: "webhooks", Hooks: tel.BreakerHooks()}))
}

func newBucket(tel *Telemetry) *bucket.Limiter {
	return throttle.Must(bucket.New(bucket.Config{Name: "geocoder", Limit: bucket.PerSecond(10), Hooks: tel.BucketHooks()}))
}

func newBackoff(tel *Telemetry) *backoff.Responsive {
	return throttle.Must(backoff.New(backoff.Config{Name: "table", Hooks: tel.BackoffHooks()}))
}

func newRetrier(tel *Telemetry) *retry.Retrier {
	return throttle.Must(retry.New(retry.Config{Name: "orders", Hooks: tel.RetryHooks()}))
}

func newControl(tel *Telemetry) *control.Control {
	return throttle.Must(control.New(control.Config{Hooks: tel.ControlHooks()}))
}

// members makes one member for each snapshot, of which it then shows that one. The last member leaves.
func members[M comparable, S, R any, D interface{ base() *attributes }](
	tel *Telemetry, s *system[M, S, R, D], create func(*Telemetry) M, snapshots ...S,
) {
	shown := map[M]S{}
	s.Kind.Read = func(m M) S { return shown[m] }
	var last M
	for _, snapshot := range snapshots {
		last = create(tel)
		shown[last] = snapshot
	}
	s.Leave(last)
}

// TestSeries_sums has two open members and a closed one of each system. Counters are the sums of all three. What is a state is that
// of the open ones: the sum, the highest or the lowest. A count beyond an int64 stays at the highest that there is.
func TestSeries_sums(t *testing.T) {
	process := throttle.ProcessorStats{Wait: 50 * time.Millisecond, Aim: 20 * time.Millisecond, Runnable: 12, Processors: 4, Share: 0.25}
	process.Probabilities[throttle.Low] = 1
	tel, reader := adapter(t, WithBreakerDetail(2), WithProcess(process), WithObjective(0.9995, 300*time.Millisecond))
	members(tel, tel.throttles, newThrottle, someThrottles(t)...)
	members(tel, tel.breakers, newBreaker, someBreakers(t)...)
	members(tel, tel.buckets, newBucket,
		bucket.Stats{Granted: 1, Denied: 2, FailedOpen: 3, FailedClosed: 4, Tokens: 5, Waiting: 6, OnFailure: bucket.FailOpen, Limit: bucket.PerSecond(7)},
		bucket.Stats{Granted: 10, Denied: 20, FailedOpen: 30, FailedClosed: 40, Tokens: 50, Waiting: 60, OnFailure: bucket.LocalShare, Limit: bucket.PerSecond(70)},
		bucket.Stats{Granted: 100, Denied: 200, FailedOpen: 300, FailedClosed: 400, Tokens: math.MaxUint64 - 55, Waiting: 600, OnFailure: bucket.LocalShare, Limit: bucket.PerSecond(700)},
	)
	members(tel, tel.backoffs, newBackoff,
		backoff.Stats{Delay: 9 * time.Second, Ups: 1, Downs: 2, Successes: 3, Throttled: 4, Ignored: 5, Waiting: 6},
		backoff.Stats{Delay: 7 * time.Second, Ups: 10, Downs: 20, Successes: 30, Throttled: 40, Ignored: 50, Waiting: 60},
		backoff.Stats{Delay: 80 * time.Second, Ups: 100, Downs: 200, Successes: 300, Throttled: 400, Ignored: 500, Waiting: 600},
	)
	members(tel, tel.retries, newRetrier,
		retry.Stats{Calls: []uint64{1, 2}, Sent: 3, Hedged: 1, Denied: denials(t), Left: 0.5},
		retry.Stats{Calls: []uint64{10, 20, 30}, Sent: 40, Hedged: 10, Left: 6},
		retry.Stats{Calls: []uint64{100, 0, 0}, Sent: 200, Hedged: 100, Denied: denials(t), Left: 700},
	)
	var c control.Stats
	c.Tunings[throttle.SourceCode][0], c.Tunings[throttle.SourceApply][1], c.Overrides[throttle.SourceApply] = 1, 2, 3
	watching := c
	watching.Watching, watching.Broken, watching.Version = true, true, 17
	watching.Last = []control.LastChange{{Kind: "throttle", Name: "db\xff", Source: throttle.SourceFile, At: time.Unix(1000, 0)}}
	closed := watching
	closed.Version, closed.Last = 18, []control.LastChange{{Kind: "throttle", Name: "gone"}}
	members(tel, tel.controls, newControl, watching, c, closed)
	tel.RetryHooks().Arrived(t.Context(), retry.ArrivalEvent{Name: "shop", Attempt: 2})
	page(t, reader) // which leaves the counters of the closed members alone
	wantPage(t, reader, "testdata/series_sums.txt")
}

// denials returns what a Retrier denied: one call, because it must not be retried.
func denials(t *testing.T) retry.Denials {
	r := throttle.Must(retry.New(retry.Config{Name: "orders"}))
	_ = r.Do(retry.WithoutRetries(t.Context()), throttle.High, func(context.Context) error { return throttle.MarkRejected(os.ErrClosed) })
	return r.Stats().Denied
}

func someBreakers(t *testing.T) []breakerSnapshot {
	var poll breaker.PollFunc = func(context.Context, breaker.PollQuery) (map[breaker.Key]breaker.PollResult, error) {
		return nil, os.ErrClosed
	}
	failing := throttle.Must(breaker.New(breaker.Config{Name: "failing", Poll: poll}))
	_ = failing.Sample(t.Context())
	first := breakerSnapshot{Stats: breaker.Stats{Errors: failing.Stats().Errors, SnapshotAge: 3 * time.Second, Leads: true}}
	first.Calls[breaker.Closed] = breaker.CallStats{Admitted: 7, Shed: 1, ShadowShed: 2}
	first.Calls[breaker.Open] = breaker.CallStats{Shed: 4}
	first.Changes[breaker.Open], first.Circuits[breaker.Open], first.Circuits[breaker.Disabled] = 5, 6, 1
	first.circuits = []breaker.Status{
		{Key: breaker.Key{Tenant: "acme", ID: "a"}, State: breaker.Open, Generation: 1},
		{Key: breaker.Key{ID: "b"}, State: breaker.Disabled},
		{Key: breaker.Key{ID: "c"}, State: breaker.HalfOpen},
	}
	second := breakerSnapshot{Stats: breaker.Stats{SnapshotAge: -1}}
	second.Calls[breaker.HalfOpen] = breaker.CallStats{Admitted: 70}
	second.Changes[breaker.Open], second.Circuits[breaker.Open], second.Circuits[breaker.Disabled] = 50, 2, 3
	second.circuits = []breaker.Status{{Key: breaker.Key{Tenant: "acme", ID: "a"}, State: breaker.Closed, Generation: 2}}
	closed := first
	closed.SnapshotAge, closed.OnStale = time.Hour, breaker.FailClosed
	return []breakerSnapshot{first, second, closed}
}

// shadowShed returns what a throttle in ModeShadow counts of one call that it might have shed.
func shadowShed(t *testing.T) throttle.ShadowTotals {
	th := throttle.Must(throttle.New(throttle.Config{Name: "db", Mode: throttle.ModeShadow, Policy: throttle.SRE, Rand: func() float64 { return 0 }}))
	for {
		if shadow := th.Stats().Priorities[throttle.High].ShadowShed; shadow.Sum() > 0 {
			return shadow
		}
		_ = th.Do(t.Context(), throttle.High, func(context.Context) error { return throttle.MarkRejected(os.ErrClosed) })
	}
}

func someThrottles(t *testing.T) []throttle.Stats {
	var shed throttle.CauseTotals
	shed.Add(throttle.CauseOwn, 7)
	shed.Add(throttle.CauseLimit, 8)
	shadow := shadowShed(t)
	calls := func(n uint64) throttle.PriorityStats {
		p := throttle.PriorityStats{
			Probability: 0.25, Told: 0.125, Admitted: 11 * n, InFlight: int64(n), Overloaded: 2 * n, Clamped: 3 * n,
			Window:  throttle.WindowStats{Accepted: n, Rejected: 2 * n, Shed: 4 * n},
			Slow:    throttle.SlowTotals{Late: n, Booked: 2 * n, WrittenOff: 3 * n, WouldRefuse: 4 * n, Limit: int64(5 * n)},
			Tenants: throttle.TenantStats{Known: true, Above: int(n), Largest: 0.5, Shed: 6 * n},
		}
		p.Ended.Add(throttle.Accepted, throttle.FaultNone, 5*n)
		p.Ended.Add(throttle.Rejected, throttle.FaultOther, 4*n)
		p.Fallbacks.Add(throttle.Shed, throttle.FaultTimeout, n)
		for range n {
			p.Shed.Merge(shed)
			p.ShadowShed.Merge(shadow)
		}
		return p
	}
	first := throttle.Stats{
		Policy: throttle.Tiered, State: throttle.PolicyState{Alert: throttle.RatioAlert, Background: 0.1},
		Mode: throttle.ModeShadow, CodeMode: throttle.ModeEnforce, Slow: throttle.SlowStats{Slow: 2 * time.Second, Open: 9, Oldest: 4 * time.Second},
		Received: throttle.ReceivedStats{Known: true, Overloaded: true}, SendsLoad: true, ProcessorWait: time.Second, Exempt: 1,
		Priorities: []throttle.PriorityStats{calls(1), {}},
	}
	first.Load.Shed[throttle.High] = 0.75
	second := throttle.Stats{
		Policy: throttle.Tiered, State: throttle.PolicyState{Background: 0.2}, Exempt: 10,
		Slow:     throttle.SlowStats{Slow: time.Second, Auto: true, Full: true, Learned: time.Second, Open: 90, Oldest: 3 * time.Second},
		Received: throttle.ReceivedStats{Known: true, Calm: true}, Priorities: []throttle.PriorityStats{calls(10), {}},
	}
	second.Priorities[throttle.High].Probability, second.Priorities[throttle.High].Told = 0.5, 0
	closed := first
	closed.State.Background, closed.Slow.Slow, closed.Slow.Oldest, closed.Exempt = 0.9, time.Hour, time.Hour, 100
	closed.Priorities = []throttle.PriorityStats{calls(100), {}}
	closed.Priorities[throttle.High].Probability, closed.Priorities[throttle.High].Told = 0.9, 0.9
	closed.Priorities[throttle.High].Slow.Limit, closed.Priorities[throttle.High].Tenants.Largest = 1, 0.9
	return []throttle.Stats{first, second, closed}
}
