package soak

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/spillway-go/spillway/internal/integration/program"
)

// scrape is what one scrape of an example returned.
type scrape struct {
	counters map[string]float64 // by name and labels
	all      model.Vector
}

// symptom is a counter with the value of one of its labels. It is above 0 after an effective disruption.
type symptom struct {
	name         string
	label, value model.LabelValue
}

func parse(text []byte) (s scrape, err error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	s.counters = map[string]float64{}
	for name, f := range families {
		samples, err := expfmt.ExtractSamples(&expfmt.DecodeOptions{}, f)
		if err != nil {
			return s, err
		}
		s.all = append(s.all, samples...)
		for _, one := range samples {
			cumulative := f.GetType() == dto.MetricType_COUNTER || f.GetType() == dto.MetricType_HISTOGRAM
			if cumulative && string(one.Metric["__name__"]) != name+"_sum" { // sums fall if negative values are observed
				s.counters[one.Metric.String()] = float64(one.Value)
			}
		}
	}
	if err == nil && len(s.all) == 0 {
		err = fmt.Errorf("no series in %d bytes", len(text))
	}
	return s, err
}

// total returns the sum of the series with the name and label of p. An empty label matches all.
func (s scrape) total(p symptom) (sum float64) {
	for _, one := range s.all {
		if string(one.Metric["__name__"]) == p.name && one.Metric[model.LabelName(p.label)] == p.value {
			sum += float64(one.Value)
		}
	}
	return sum
}

// watch scrapes the metrics of the example and reads its status page once a second, until ctx ends.
func (c *child) watch(ctx context.Context) {
	client := &http.Client{Transport: &http.Transport{}, Timeout: program.Timeout}
	defer client.CloseIdleConnections()
	for {
		text, err := request(ctx, client, http.MethodGet, c.url+"/metrics", "")
		var s scrape
		if err == nil {
			s, err = parse(text)
		}
		if err == nil {
			c.keep(s)
			text, err = request(ctx, client, http.MethodGet, c.url+"/debug/throttle?format=json", "")
		}
		if err == nil && !bytes.Contains(text, []byte(`"throttles"`)) {
			err = fmt.Errorf("/debug/throttle: got %.100q", text)
		}
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			c.problem(err)
		}
		if !program.Sleep(ctx, time.Second) {
			return
		}
	}
}

// keep stores a scrape and reports counters that fell. It remembers the counters of series that a
// scrape lacks.
func (c *child) keep(s scrape) {
	for series, before := range c.last.counters {
		now, ok := s.counters[series]
		if !ok {
			s.counters[series] = before
		} else if now < before {
			c.problem(fmt.Errorf("%s fell from %v to %v", series, before, now))
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = s
	c.scrapes++
}

// request sends a request and returns the body of an answer with status 200.
func request(ctx context.Context, client *http.Client, method, url, body string) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	response, err := client.Do(r)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s %s: got %s: %.200s", method, url, response.Status, text)
	}
	return text, err
}

// quantities must not grow. Growth of up to slack units is ignored.
var quantities = [...]struct {
	name        string
	unit, slack float64
}{{"heap MiB", 1 << 20, 2}, {"goroutines", 1, 8}, {"fds", 1, 5}}

// A sample is the quantities at one time.
type sample [len(quantities)]float64

const (
	growth        = 1.10 // how much larger the median of the last third may be than that of the middle third
	fewestSamples = 30   // to judge growth
)

// sample takes a sample and logs it. It returns the value of the symptom.
func (c *child) sample(t *testing.T, at time.Duration) (effect float64) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.scrapes == 0 {
		return 0
	}
	heap, goroutines := c.last.total(symptom{name: "go_memstats_heap_inuse_bytes"}), c.last.total(symptom{name: "go_goroutines"})
	fds, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", c.PID()))
	s := sample{heap, goroutines, float64(len(fds))}
	for i, q := range quantities {
		s[i] /= q.unit
	}
	c.samples = append(c.samples, s)
	effect = c.last.total(c.symptom)
	t.Logf("%6.0f s  %-10s  heap %5.1f MiB  goroutines %3.0f  fds %3.0f  %s %.0f",
		at.Seconds(), c.name, s[0], s[1], s[2], c.symptom.value, effect)
	return effect
}

// thirds returns the medians of a quantity in the three parts of a run. The program warms up in the
// first part. A median ignores single overloads and garbage collections.
func thirds(samples []sample, quantity int) (medians [3]float64) {
	for i := range medians {
		part := samples[len(samples)*i/3 : len(samples)*(i+1)/3]
		values := make([]float64, len(part))
		for k, s := range part {
			values[k] = s[quantity]
		}
		slices.Sort(values)
		medians[i] = values[len(values)/2]
	}
	return medians
}

// grown returns the medians of the thirds, and a problem for each quantity that grew from the middle
// third to the last.
func grown(samples []sample) (medians string, problems []string) {
	if len(samples) < fewestSamples {
		return "too few samples to judge growth", nil
	}
	for i, q := range quantities {
		m := thirds(samples, i)
		medians += fmt.Sprintf("; %s %.1f, %.1f, %.1f", q.name, m[0], m[1], m[2])
		if m[2] > growth*m[1]+q.slack {
			problems = append(problems, fmt.Sprintf("%s grew from %.1f to %.1f", q.name, m[1], m[2]))
		}
	}
	return "medians of the thirds" + medians, problems
}

// report logs the medians of an example, and its problems as errors.
func (c *child) report(t *testing.T) {
	medians, problems := grown(c.samples)
	t.Logf("%s: %d scrapes; %s", c.name, c.scrapes, medians)
	if len(c.samples) == 0 || slices.Contains(c.samples[0][:], 0) {
		problems = append(problems, fmt.Sprintf("got samples %v want heap, goroutines and fds", c.samples))
	}
	if c.last.total(c.symptom) == 0 {
		problems = append(problems, fmt.Sprintf("the disruption had no effect: %+v is 0", c.symptom))
	}
	for _, p := range append(problems, c.problems...) {
		t.Errorf("%s: %s", c.name, p)
	}
}
