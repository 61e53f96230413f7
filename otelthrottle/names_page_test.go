package otelthrottle_test

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/spillway-go/spillway/otelthrottle"
	"github.com/spillway-go/spillway/throttle"
)

const (
	metricsPage = "../docs/metrics.md"
	metricsHead = "| metric | in Prometheus | instrument | unit | attributes | what it is |\n|---|---|---|---|---|---|\n"
)

// metricRows returns the rows of the table in docs/metrics.md by the name of the metric.
func metricRows(t *testing.T) map[string][]string {
	t.Helper()
	page, err := os.ReadFile(metricsPage)
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string][]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `.*$").FindAllString(string(page), -1) {
		cells := strings.Split(strings.ReplaceAll(strings.Trim(row, "| "), "`", ""), " | ")
		rows[cells[0]] = cells
	}
	return rows
}

// define returns instrument, unit and attribute keys that the data of a metric amount to. Sums and histograms must be cumulative.
func define(t *testing.T, m metricdata.Metrics) (kind string, keys []string) {
	t.Helper()
	temporality := metricdata.CumulativeTemporality
	switch data := m.Data.(type) {
	case metricdata.Sum[int64]:
		kind, temporality = "up-down counter", data.Temporality
		if data.IsMonotonic {
			kind = "counter"
		}
		keys = keysOf(data.DataPoints, func(p metricdata.DataPoint[int64]) attribute.Set { return p.Attributes })
	case metricdata.Gauge[int64]:
		kind = "gauge"
		keys = keysOf(data.DataPoints, func(p metricdata.DataPoint[int64]) attribute.Set { return p.Attributes })
	case metricdata.Gauge[float64]:
		kind = "gauge of float"
		keys = keysOf(data.DataPoints, func(p metricdata.DataPoint[float64]) attribute.Set { return p.Attributes })
	case metricdata.Histogram[float64]:
		kind, temporality = "histogram", data.Temporality
		keys = keysOf(data.DataPoints, func(p metricdata.HistogramDataPoint[float64]) attribute.Set { return p.Attributes })
	}
	equal(t, "temporality of "+m.Name, temporality, metricdata.CumulativeTemporality)
	return kind, keys
}

// keysOf returns the keys of the attributes that points have. One that some lack is in brackets.
func keysOf[P any](points []P, attributes func(P) attribute.Set) []string {
	found := map[string]int{}
	for _, p := range points {
		set := attributes(p)
		for _, kv := range set.ToSlice() {
			found[string(kv.Key)]++
		}
	}
	var keys []string
	for _, key := range slices.Sorted(maps.Keys(found)) {
		if found[key] < len(points) {
			key = "[" + key + "]"
		}
		keys = append(keys, key)
	}
	return keys
}

// TestMetricsPage has everything reported that can be, and compares it with the table in docs/metrics.md. Dashboards, alerts and
// users' queries rely on every word of it. With SPILLWAY_WRITE_METRICS it writes the table.
func TestMetricsPage(t *testing.T) {
	everything := append(detailed(), otelthrottle.WithProcess(throttle.ProcessorStats{Processors: 1}), otelthrottle.WithObjective(0.9995, time.Second))
	l, e := newScrapedLab(t, setup{options: everything})
	everyKind(t, l, throttle.Config{Name: "db"})
	families := map[string]string{} // by their help
	for _, m := range regexp.MustCompile(`(?m)^# HELP (\S+) (.*)$`).FindAllStringSubmatch(e.scrape(t, ""), -1) {
		families[m[2]] = m[1]
	}
	var rows []string
	for _, m := range collect(t, l.reader) {
		kind, keys := define(t, m)
		rows = append(rows, fmt.Sprintf("| `%s` | `%s` | %s | %s | %s | %s |\n", m.Name, families[m.Description], kind, m.Unit,
			strings.Join(keys, ", "), strings.TrimSuffix(m.Description, ".")))
	}
	slices.Sort(rows)
	table := metricsHead + strings.Join(rows, "")
	page, err := os.ReadFile(metricsPage)
	if err != nil {
		t.Fatal(err)
	}
	before, _, _ := strings.Cut(string(page), metricsHead)
	switch want := before + table; {
	case os.Getenv("SPILLWAY_WRITE_METRICS") != "":
		if err := os.WriteFile(metricsPage, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
	case string(page) != want:
		t.Errorf("docs/metrics.md: run go generate ./otelthrottle if the change is meant; want the table\n%s", table)
	}
}

// TestMetricsPage_hasEveryName of package semconv: else a new one could be missing in the page and in the tests.
func TestMetricsPage_hasEveryName(t *testing.T) {
	source, err := os.ReadFile("semconv/names.go")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, m := range regexp.MustCompile(`\tMetric\w+\s+= "([^"]+)"`).FindAllSubmatch(source, -1) {
		names = append(names, string(m[1]))
	}
	slices.Sort(names)
	equal(t, "metrics", fmt.Sprint(names), fmt.Sprint(slices.Sorted(maps.Keys(metricRows(t)))))
}
