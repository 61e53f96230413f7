package main

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// exposition is what one scrape of a program has told.
type exposition struct {
	series   int                // lines with a value
	counters map[string]float64 // all that must never fall, by name and labels
	gauges   map[string]float64
}

// parseExposition reads the text format of Prometheus. A text that has no series, or no newline at its end, is one that was cut off.
func parseExposition(text []byte) (exposition, error) {
	e := exposition{counters: map[string]float64{}, gauges: map[string]float64{}}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		return e, err
	}
	for _, name := range slices.Sorted(maps.Keys(families)) {
		for _, m := range families[name].Metric {
			e.add(families[name].GetType(), name, m)
		}
	}
	if e.series == 0 {
		return e, fmt.Errorf("no series in %d bytes", len(text))
	}
	return e, nil
}

// add adds the series of a metric. Sums of histograms and summaries are left out: they may fall if what is observed may be negative.
func (e *exposition) add(kind dto.MetricType, name string, m *dto.Metric) {
	labels := labelsOf(m)
	switch kind {
	case dto.MetricType_COUNTER:
		e.count(name+labels, m.GetCounter().GetValue())
	case dto.MetricType_HISTOGRAM:
		e.count(name+"_count"+labels, float64(m.GetHistogram().GetSampleCount()))
		for _, b := range m.GetHistogram().GetBucket() {
			bound := strconv.FormatFloat(b.GetUpperBound(), 'g', -1, 64)
			e.count(name+"_bucket"+labels+" le "+bound, float64(b.GetCumulativeCount()))
		}
		e.series++
	case dto.MetricType_SUMMARY:
		e.count(name+"_count"+labels, float64(m.GetSummary().GetSampleCount()))
		e.series += 1 + len(m.GetSummary().GetQuantile())
	case dto.MetricType_GAUGE:
		e.gauges[name+labels] = m.GetGauge().GetValue()
		e.series++
	default:
		e.gauges[name+labels] = m.GetUntyped().GetValue()
		e.series++
	}
}

func (e *exposition) count(series string, value float64) {
	e.counters[series] = value
	e.series++
}

// labelsOf returns the labels as they are written, in the order of their names. Those of the scope are the same everywhere.
func labelsOf(m *dto.Metric) string {
	var words []string
	for _, l := range m.GetLabel() {
		if !strings.HasPrefix(l.GetName(), "otel_scope_") {
			words = append(words, l.GetName()+"="+strconv.Quote(l.GetValue()))
		}
	}
	if len(words) == 0 {
		return ""
	}
	slices.Sort(words)
	return "{" + strings.Join(words, ",") + "}"
}

// total adds up the counters of a name that have a word among their labels, or all of them if it is empty.
func (e *exposition) total(name, word string) float64 {
	sum := 0.0
	for series, value := range e.counters {
		if base, labels, _ := strings.Cut(series, "{"); base == name && strings.Contains(labels, word) {
			sum += value
		}
	}
	return sum
}
