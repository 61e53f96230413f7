package otelthrottle_test

import (
	"context"
	"fmt"
	"maps"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/spillway-go/spillway/otelthrottle"
	"github.com/spillway-go/spillway/otelthrottle/semconv"
	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/backoff"
	"github.com/spillway-go/spillway/throttle/breaker"
	"github.com/spillway-go/spillway/throttle/bucket"
)

// definition is what is fixed of a metric. Dashboards, alerts and users' queries rely on every word of it.
type definition struct {
	kind, unit, description string
	attributes              []string // every combination of keys that its series have
}

// schema is exactly the table of the design.
func schema() map[string]definition {
	const name, priority, outcome = "throttle.name", " throttle.priority", " throttle.outcome"
	const breaker, state = "throttle.breaker.name", " throttle.breaker.state"
	const bucket, backoff = "throttle.bucket.name", "throttle.backoff.name"
	return map[string]definition{
		"throttle.bucket.requests": {"counter", "{request}", "Requests for tokens, by result.", []string{bucket + " throttle.bucket.result"}},
		"throttle.bucket.tokens":   {"counter", "{token}", "Tokens granted.", []string{bucket}},
		"throttle.bucket.waiting":  {"up-down counter", "{request}", "Requests that wait for tokens.", []string{bucket}},
		"throttle.bucket.limit":    {"gauge of float", "{token}/s", "Tokens that each key gets per second.", []string{bucket}},
		"throttle.bucket.capacity": {"gauge", "{token}", "Tokens that a full bucket holds: the burst of each key.", []string{bucket}},
		"throttle.bucket.store.duration": {
			"histogram", "s", "Duration of store calls, failed ones included.", []string{"error.type " + bucket, bucket},
		},

		"throttle.backoff.delay":   {"gauge of float", "s", "The present delay, without jitter.", []string{backoff}},
		"throttle.backoff.steps":   {"counter", "{step}", "Steps of the delay, by direction.", []string{"throttle.backoff.direction " + backoff}},
		"throttle.backoff.waiting": {"up-down counter", "{call}", "Calls that wait for their turn.", []string{backoff}},
		"throttle.backoff.calls": {
			"counter", "{call}", "Calls that ended, by outcome.", []string{backoff + " throttle.backoff.outcome"},
		},
		"throttle.backoff.sleep.duration": {"histogram", "s", "Duration of waits. Calls that did not wait are not included.", []string{backoff}},

		"throttle.retries": {
			"counter", "{retry}", "Retries that were sent, and failed calls that were not retried, by reason.",
			[]string{"throttle.retry.kind throttle.retry.name throttle.retry.result", "throttle.retry.name throttle.retry.reason throttle.retry.result"},
		},
		"throttle.retry.calls": {
			"counter", "{call}", "Calls that ended, by the number of attempts that were sent.", []string{"throttle.retry.attempts throttle.retry.name"},
		},
		"throttle.retry.budget":   {"gauge of float", "{retry}", "Retries left in the budget.", []string{"throttle.retry.name"}},
		"throttle.retry.arrivals": {"counter", "{call}", "Calls that their sender marked as retries, at a server.", []string{name}},

		"throttle.breaker.circuits": {
			"up-down counter", "{circuit}", "Circuits of the fleet by state, as this process sees them. Closed ones count only if they have a record.",
			[]string{breaker + state},
		},
		"throttle.breaker.circuit": {
			"gauge", "{circuit}", "The worst circuits that are not closed: one series with the value 1 for each.",
			[]string{"throttle.breaker.key " + breaker + state + " throttle.breaker.tenant"},
		},
		"throttle.breaker.transitions": {
			"counter", "{transition}", "Transitions of circuits that this process made, by new state.", []string{breaker + state},
		},
		"throttle.breaker.calls": {
			"counter", "{call}", "Calls through breakers, by decision and state of the circuit.",
			[]string{breaker + state + " throttle.decision"},
		},
		"throttle.breaker.snapshot.age": {"gauge of float", "s", "Time since the store was last read.", []string{breaker}},
		"throttle.breaker.leader":       {"up-down counter", "1", "Whether this process leads the fleet: 1 or 0.", []string{breaker}},
		"throttle.breaker.failures": {
			"counter", "{failure}", "Failures of background tasks, such as polls and store writes, by kind.", []string{"throttle.breaker.failure " + breaker},
		},

		"throttle.calls": {"counter", "{call}", "Calls that ended or were shed, by decision and outcome.", []string{
			"error.type throttle.cause throttle.decision " + name + outcome + priority,
			"error.type throttle.decision " + name + outcome + priority,
			"throttle.cause throttle.decision " + name + outcome + priority,
			"throttle.decision " + name + outcome + priority,
		}},
		"throttle.call.duration": {"histogram", "s", "Duration of admitted calls.", []string{
			"error.type " + name + outcome + priority, name + outcome + priority,
		}},
		"throttle.call.active":           {"up-down counter", "{call}", "Admitted calls in flight.", []string{name + priority}},
		"throttle.rejection_probability": {"gauge of float", "1", "Probability that the next call is shed.", []string{name + priority}},
		"throttle.window.requests":       {"gauge", "{request}", "Calls in the window that decisions are based on.", []string{name + priority}},
		"throttle.window.accepts":        {"gauge", "{request}", "Calls in the window that the backend accepted.", []string{name + priority}},
		"throttle.fallbacks": {"counter", "{call}", "Fallbacks, by the outcome of the call and the error of the fallback.", []string{
			"error.type " + name + outcome + priority, name + outcome + priority,
		}},
		"throttle.priority.clamped": {"counter", "{call}", "Calls whose priority was out of range.", []string{name}},
		"throttle.policy.state": {
			"gauge", "{throttle}", "Throttles with the policy Tiered, by the reason of their alert.", []string{name + " throttle.policy.alert"},
		},
		"throttle.policy.background": {
			"gauge of float", "1", "Share of the calls whose rejection is not taken for overload.", []string{name},
		},
		"throttle.slow.calls":     {"counter", "{call}", "Calls that were late, and what was done with them.", []string{name + priority + " throttle.slow.event"}},
		"throttle.slow.limit":     {"gauge", "{call}", "Open calls at which a call is refused, while calls are late; 0 without a limit.", []string{name + priority}},
		"throttle.slow.open":      {"up-down counter", "{call}", "Calls without an answer that were not written off.", []string{name}},
		"throttle.slow.threshold": {"gauge of float", "s", "How long a call may be without an answer before it is late.", []string{name + " throttle.slow.source"}},
		"throttle.mode": {
			"gauge", "{throttle}", "Throttles by mode, and whether it is that of the code or of an override.", []string{"throttle.mode throttle.mode.source " + name},
		},
		"throttle.tunings": {
			"counter", "{change}", "Changes of settings that were applied, ended or refused, by source.", []string{"throttle.tuning.result throttle.tuning.source"},
		},
		"throttle.control.overrides": {
			"gauge", "{override}", "Names whose settings are not those of the code, by source.", []string{"throttle.tuning.source"},
		},
		"throttle.control.changed": {
			"gauge", "s", "When the settings of a name were last changed, in Unix time.", []string{"throttle.tuning.kind throttle.tuning.name throttle.tuning.source"},
		},
		"throttle.control.broken": {"gauge", "{file}", "Control files that are refused: 1 or 0.", []string{""}},
		"throttle.control.version": {
			"gauge", "{document}", "A number made of the document that was last applied: processes with the same document have the same.", []string{""},
		},
		"throttle.slow.full":   {"gauge", "{throttle}", "Throttles with SlowAuto that have found calls waiting in a queue.", []string{name}},
		"throttle.slow.oldest": {"gauge of float", "s", "How long the oldest call has been without an answer.", []string{name}},
		"throttle.overloads":   {"counter", "{call}", "Rejected calls of which the backend said that it is full.", []string{name + priority}},
		"throttle.load.sent": {
			"gauge of float", "1", "Share of the calls that this server sheds, as it says to its clients.", []string{name + priority},
		},
		"throttle.load.received": {
			"gauge of float", "1", "Probability of shedding that the load reports of the backend ask for.", []string{name + priority},
		},
		"throttle.load.state": {
			"gauge", "{throttle}", "Throttles by what the backend said about its load in the last seconds.", []string{"throttle.load.state " + name},
		},
		"throttle.tenants.above":   {"gauge", "{tenant}", "Tenants that take more than their fair share.", []string{name + priority}},
		"throttle.tenants.largest": {"gauge of float", "1", "Share of the calls that the largest tenant has asked for.", []string{name + priority}},
		"throttle.tenants.sheds":   {"counter", "{call}", "Calls shed of tenants that took more than their fair share.", []string{name + priority}},
		"throttle.calls.exempt":    {"counter", "{call}", "Calls that were served without a decision, such as health checks.", []string{name}},

		"spillway.objective": {
			"gauge of float", "", "What this service promises: the share of High calls that succeed, or seconds of the p99.", []string{"objective"},
		},
		"throttle.processor.wait": {"gauge of float", "s", "How long a goroutine of this process waits for a processor.", []string{""}},
		"throttle.processor.aim":  {"gauge of float", "s", "The wait above which calls to this process are shed.", []string{""}},
		"throttle.processor.runnable": {
			"gauge of float", "{goroutine}", "Goroutines that wait for a processor, per processor.", []string{""},
		},
		"throttle.processor.share": {
			"gauge of float", "1", "Share of the calls to this process that is shed because they wait for a processor.", []string{""},
		},
		"throttle.processor.probability": {
			"gauge of float", "1", "Probability that a call to this process is shed because calls wait for a processor.", []string{"throttle.priority"},
		},
	}
}

// TestSchema_hasEveryMetric of package semconv: else a new one could be missing in the comment and in the tests.
func TestSchema_hasEveryMetric(t *testing.T) {
	source, err := os.ReadFile("semconv/names.go")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, m := range regexp.MustCompile(`\tMetric\w+\s+= "([^"]+)"`).FindAllSubmatch(source, -1) {
		names = append(names, string(m[1]))
	}
	slices.Sort(names)
	equal(t, "metrics", fmt.Sprint(names), fmt.Sprint(slices.Sorted(maps.Keys(schema()))))
}

// define returns the definition that the data of a metric amount to. Sums and histograms must be cumulative.
func define(t *testing.T, m metricdata.Metrics) definition {
	t.Helper()
	d := definition{unit: m.Unit, description: m.Description}
	temporality := metricdata.CumulativeTemporality
	switch data := m.Data.(type) {
	case metricdata.Sum[int64]:
		d.kind, temporality = "up-down counter", data.Temporality
		if data.IsMonotonic {
			d.kind = "counter"
		}
		d.attributes = keysOf(data.DataPoints, func(p metricdata.DataPoint[int64]) attribute.Set { return p.Attributes })
	case metricdata.Gauge[int64]:
		d.kind = "gauge"
		d.attributes = keysOf(data.DataPoints, func(p metricdata.DataPoint[int64]) attribute.Set { return p.Attributes })
	case metricdata.Gauge[float64]:
		d.kind = "gauge of float"
		d.attributes = keysOf(data.DataPoints, func(p metricdata.DataPoint[float64]) attribute.Set { return p.Attributes })
	case metricdata.Histogram[float64]:
		d.kind, temporality = "histogram", data.Temporality
		d.attributes = keysOf(data.DataPoints, func(p metricdata.HistogramDataPoint[float64]) attribute.Set { return p.Attributes })
	}
	equal(t, "temporality of "+m.Name, temporality, metricdata.CumulativeTemporality)
	return d
}

// keysOf returns the combinations of attribute keys that points have.
func keysOf[P any](points []P, attributes func(P) attribute.Set) []string {
	found := map[string]bool{}
	for _, p := range points {
		set := attributes(p)
		var keys []string
		for _, kv := range set.ToSlice() {
			keys = append(keys, string(kv.Key))
		}
		found[strings.Join(keys, " ")] = true
	}
	return slices.Sorted(maps.Keys(found))
}

// everyKind makes a throttle, a breaker, a limiter and a backoff do everything that is reported, at least once.
func everyKind(t testing.TB, l *lab, c throttle.Config) *throttle.Throttle {
	t.Helper()
	c.Slow = time.Hour // no call is late, but the metrics are there
	th := l.throttle(t, c)
	serves := func(context.Context, error, bool) error { return nil }
	fails := func(context.Context, error, bool) error { return errPlain }
	times(1, th, 99, nil)
	times(1, th, throttle.High, errPlain)
	l.reject(t, th, throttle.Low, 60)
	l.shed(throttle.WithTenant(t.Context(), "shop 17"), t, th, throttle.Low, 2)
	_ = th.Do(t.Context(), throttle.High, returns(errBusy), serves)
	_ = th.Do(t.Context(), throttle.High, returns(errBusy), fails)
	times(1, th, throttle.High, throttle.MarkOverloaded(errBusy))
	th.Exempt()
	th.ReceiveLoad(throttle.LoadReport{Overloaded: true})
	th.LoadReport()
	if err := th.Tune(throttle.Patch{Mode: new(throttle.ModeShadow)}); err != nil {
		t.Fatalf("Tune: got error %v want nil", err)
	}
	l.sheds.Store(true)
	times(1, th, throttle.Low, nil)
	times(1, th, throttle.Low, errBusy)
	l.sheds.Store(false)
	if _, err := th.Admit(t.Context(), throttle.Medium); err != nil {
		t.Fatalf("Admit: got error %v want nil", err)
	}
	dryRun := l.breaker(t, breaker.Config{Name: "webhooks", Mode: throttle.ModeShadow})
	disable(t, dryRun, breaker.Key{Tenant: "acme", ID: "a"})
	admit(t, dryRun, breaker.Key{Tenant: "acme", ID: "a"})
	everyAnswer(t, l.limiter(t, bucket.Config{Store: &doubtfulStore{Store: bucket.NewMemoryStore(), fails: inTurn(nil, errPlain)}}))
	everyOutcome(t, l.backoff(t, backoff.Config{}))
	everyRetry(t, l)
	everyTuning(t, l)
	return th
}

func TestEveryMetricIsAsDesigned(t *testing.T) {
	l := newLab(t, setup{options: everything()})
	everyKind(t, l, throttle.Config{Name: "db"})
	want := schema()
	for _, m := range collect(t, l.reader) {
		t.Run(m.Name, func(t *testing.T) {
			got := define(t, m)
			wanted := want[m.Name]
			slices.Sort(wanted.attributes)
			equal(t, "kind", got.kind, wanted.kind)
			equal(t, "unit", got.unit, wanted.unit)
			equal(t, "description", got.description, wanted.description)
			equal(t, "attributes", fmt.Sprintf("%q", got.attributes), fmt.Sprintf("%q", wanted.attributes))
		})
		delete(want, m.Name)
	}
	for name := range want {
		t.Errorf("got no %s", name)
	}
}

// TestEverythingIsEmittedUnderOneScope checks under whose name everything is emitted.
func TestEverythingIsEmittedUnderOneScope(t *testing.T) {
	l := newLab(t, setup{})
	l.throttle(t, throttle.Config{Name: "db"})
	var rm metricdata.ResourceMetrics
	if err := l.reader.Collect(t.Context(), &rm); err != nil {
		t.Fatalf("Collect: got error %v want nil", err)
	}
	equal(t, "scopes", len(rm.ScopeMetrics), 1)
	scope := rm.ScopeMetrics[0].Scope
	equal(t, "name", scope.Name, "github.com/spillway-go/spillway/otelthrottle")
	equal(t, "version", scope.Version, otelthrottle.Version)
	equal(t, "schema URL", scope.SchemaURL, "") // our names are not those of the conventions
	if !regexp.MustCompile(`^\d+\.\d+\.\d+$`).MatchString(otelthrottle.Version) {
		t.Errorf("Version: got %q want a semantic version", otelthrottle.Version)
	}
}

// TestErrorTypesAreAClosedSet ends a call with every fault.
func TestErrorTypesAreAClosedSet(t *testing.T) {
	want := []string{
		"_OTHER", "authentication", "availability", "bad", "canceled", "conflict", "missing", "panic", "permission",
		"precondition", "quota", "shed", "timeout", "unimplemented",
	}
	l := newLab(t, setup{})
	th := l.throttle(t, throttle.Config{Name: "db", Mode: throttle.ModeOff})
	for _, err := range errorsOfEveryFault() {
		times(1, th, throttle.High, err)
		times(1, th, throttle.High, fmt.Errorf("user 17: %w", err))
	}
	found := map[string]bool{}
	for key := range l.read(t).of(semconv.MetricCalls).positive() {
		if _, after, ok := strings.Cut(key, "error.type="); ok {
			found[after[:strings.IndexAny(after, ",}")]] = true
		}
	}
	if got := slices.Sorted(maps.Keys(found)); !slices.Equal(got, want) {
		t.Errorf("error.type: got %q want %q", got, want)
	}
	equal(t, "kinds of faults", len(want), int(throttle.FaultOther))
}

// TestBoundsOfHistograms records a duration for each bound, in which it is counted, and a longer
// one.
func TestBoundsOfHistograms(t *testing.T) {
	l := newLab(t, setup{})
	th, limiter, r := l.throttle(t, throttle.Config{Name: "db"}), l.limiter(t, bucket.Config{}), l.backoff(t, backoff.Config{})
	asked, slept := l.tel.BucketHooks().StoreCalled, l.tel.BackoffHooks().Slept
	for metric, h := range map[string]struct {
		record func(time.Duration)
		bounds []float64
	}{
		semconv.MetricCallDuration: {
			func(d time.Duration) { _ = th.Do(t.Context(), throttle.High, l.taking(d, nil)) },
			[]float64{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 10},
		},
		semconv.MetricBucketStoreDuration: {
			func(d time.Duration) { asked(t.Context(), bucket.StoreEvent{Limiter: limiter, Duration: d}) },
			[]float64{0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 10, 60},
		},
		semconv.MetricBackoffSleepDuration: {
			func(d time.Duration) { slept(t.Context(), backoff.SleepEvent{Responsive: r, Duration: d}) },
			[]float64{0.001, 0.0025, 0.01, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900},
		},
	} {
		for _, bound := range h.bounds {
			h.record(time.Duration(math.Round(bound * float64(time.Second))))
		}
		h.record(time.Hour)
		for _, m := range collect(t, l.reader) {
			if m.Name != metric {
				continue
			}
			p := m.Data.(metricdata.Histogram[float64]).DataPoints[0]
			if once := slices.Repeat([]uint64{1}, len(h.bounds)+1); !slices.Equal(p.Bounds, h.bounds) || !slices.Equal(p.BucketCounts, once) {
				t.Errorf("%s: got %v in %v want 1 in each of %v", metric, p.BucketCounts, p.Bounds, h.bounds)
			}
		}
		equal(t, "durations in "+metric, l.read(t).with(metric), float64(len(h.bounds)+1))
	}
}
