package monitoring

import (
	"fmt"
	"hash/fnv"
	"math"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"

	"github.com/spillway-go/spillway/internal/integration/program"
	"github.com/spillway-go/spillway/throttle"
)

// What the data of two clusters are made of.
const (
	dataStep, dataSteps = 15 * time.Second, 40
	warnedJob           = "warned" // has an alert about faults, and a more severe one
	ticketJob           = "ticket" // has a warning only
)

// A backfill is text for promtool: series with all their samples.
type backfill struct {
	text strings.Builder
	end  time.Time
}

func (b *backfill) add(name, labels string, value func(step int) float64) {
	for step := range dataSteps {
		at := b.end.Add(-time.Duration(dataSteps-1-step) * dataStep)
		fmt.Fprintf(&b.text, "%s{%s} %v %d\n", name, labels, value(step), at.Unix())
	}
}

// prometheusOf starts a Prometheus with the data, without waiting for scrapes. It is asked for the time of the last samples.
func prometheusOf(t *testing.T, b *backfill) server {
	t.Helper()
	folder := t.TempDir()
	b.text.WriteString("# EOF\n")
	file := write(t, []byte(b.text.String()), folder, "data.om")
	create := exec.Command(program.Find(t, "prometheus", "promtool"), "tsdb", "create-blocks-from", "openmetrics", "--quiet", file, folder)
	if out, err := create.CombinedOutput(); err != nil {
		t.Fatalf("promtool: %v\n%s", err, out)
	}
	config := write(t, []byte("scrape_configs: []\n"), folder, "prometheus.yml")
	return answering(t, program.Prometheus(t, folder, func(string) string { return config }), b.end)
}

// twoClusters returns what two clusters with three services each expose, no series of the two alike, and a process with
// names that are hard to quote.
func twoClusters(t *testing.T) *backfill {
	t.Helper()
	i := newInstance(t)
	for range 10 {
		i.doEverything(t, t.Context())
	}
	families := throttle.Must(i.registry.Gather())
	b := &backfill{end: time.Now()}
	for _, cluster := range []string{"eu", "us"} {
		for _, job := range []string{"shop", "mail", "search"} {
			place := fmt.Sprintf(`cluster=%q,namespace="web",job=%q,instance="%[1]s-%[2]s:9464"`, cluster, job)
			b.addProcess(families, place, dottedName)
		}
	}
	b.addProcess(families, fmt.Sprintf(`cluster=%q,namespace=%q,job=%q,instance=%q`, fixtureCluster, fixtureNamespace, hostileJob, hostileInstance), hostileName)
	b.add("throttle:breaker_max_stale:seconds", "", func(int) float64 { return 60 })
	const faults, burn, late = "ThrottleAvailabilityFaults", "ThrottleErrorBudgetBurn", "ThrottleCallsLate"
	b.addAlert(faults, "warning", fmt.Sprintf(`job=%q,throttle_name="stock"`, warnedJob), 60)
	b.addAlert(burn, "critical", fmt.Sprintf(`job=%q,throttle_name="stock"`, warnedJob), 120)
	b.addAlert(late, "warning", fmt.Sprintf(`job=%q,throttle_name="stock"`, ticketJob), 60)
	return b
}

// addProcess adds all series of a process, and alerts about what has the name.
func (b *backfill) addProcess(families []*dto.MetricFamily, place, name string) {
	for _, f := range families {
		b.addFamily(f, place)
	}
	b.addAlerts(place, name)
	b.add("throttle:error_budget:ratio", place, func(int) float64 { return 1 - 0.1*part(place) }) // so large that some of it is left
}

// addFamily adds the series of a family. How fast a counter grows, and how high a gauge is, depends on all labels.
func (b *backfill) addFamily(f *dto.MetricFamily, place string) {
	var text strings.Builder
	if _, err := expfmt.MetricFamilyToText(&text, f); err != nil {
		panic(err) // of a strings.Builder
	}
	for line := range strings.Lines(text.String()) {
		at := strings.LastIndexByte(strings.TrimSpace(line), ' ')
		forgotten := strings.Contains(line, idleName) && strings.Contains(place, `cluster="eu"`) // only one cluster has a process that never reads the store
		if line[0] == '#' || at < 0 || forgotten {
			continue
		}
		series, labels, _ := strings.Cut(line[:at], "{")
		labels = strings.TrimSuffix(labels, "}")
		if labels != "" {
			labels += ","
		}
		var was float64
		_, _ = fmt.Sscan(line[at+1:], &was)
		factor, later := 0.6+0.4*part(place+series+labels), 0.0
		if _, le, bucketed := strings.Cut(labels, `le="`); bucketed { // of which none may grow less than one before it
			bound := math.Inf(1)
			_, _ = fmt.Sscanf(le, "%g", &bound)
			factor, later = 0.6+0.4*part(place), 10*part(place)*(1-1/(1+min(bound, 2)))
		}
		counter := slices.ContainsFunc([]string{"_total", "_bucket", "_count", "_sum"}, func(end string) bool { return strings.HasSuffix(series, end) })
		b.add(series, labels+place, func(step int) float64 {
			if counter {
				return ((was+1)*factor + later) * float64(step)
			}
			return (was + 0.1) * factor
		})
	}
}

// part returns a number from 0 to 1 that depends on a text.
func part(text string) float64 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(text))
	return float64(h.Sum32()%1000) / 1000
}

// addAlerts adds a critical alert about each kind of thing, as the rules would.
func (b *backfill) addAlerts(place, of string) {
	for name, label := range map[string]string{
		"ThrottleBackendDown": "throttle_name", "ThrottleBreakerSheddingSevere": "throttle_breaker_name",
		"ThrottleBucketStoreFailingOpen": "throttle_bucket_name", "ThrottleBackoffStuck": "throttle_backoff_name",
	} {
		b.addAlert(name, "critical", fmt.Sprintf(`component="throttle",%s=%q,%s`, label, of, place), 60*(1+part(place)))
	}
}

// addAlert adds an alert that fires, whose condition has been true for some seconds.
func (b *backfill) addAlert(name, severity, labels string, age float64) {
	labels = fmt.Sprintf(`alertname=%q,severity=%q,%s`, name, severity, labels)
	b.add("ALERTS", `alertstate="firing",`+labels, func(int) float64 { return 1 })
	b.add("ALERTS_FOR_STATE", labels, func(int) float64 { return float64(b.end.Add(-time.Duration(age) * time.Second).Unix()) })
}
