package soak

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spillway-go/spillway/internal/integration/program"
)

// scrape is the samples of one scrape of an example, by name and labels.
type scrape map[string]float64

// symptom is a counter with the value of one of its labels. It is above 0 after an effective disruption.
type symptom struct{ name, label, value string }

func parse(text []byte) (scrape, error) {
	s := scrape{}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		at := max(0, strings.LastIndexByte(line, ' '))
		value, err := strconv.ParseFloat(strings.TrimSpace(line[at:]), 64)
		if err != nil {
			return nil, err
		}
		s[line[:at]] = value
	}
	if len(s) == 0 {
		return nil, fmt.Errorf("no series in %d bytes", len(text))
	}
	return s, nil
}

// total returns the sum of the series with the name and label of p. Without a label it is the only one.
func (s scrape) total(p symptom) (sum float64) {
	for series, value := range s {
		if series == p.name || strings.HasPrefix(series, p.name+"{") && strings.Contains(series, fmt.Sprintf("%s=%q", p.label, p.value)) {
			sum += value
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
		if err == nil {
			err = c.keep(text)
		}
		if err == nil {
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
func (c *child) keep(text []byte) error {
	s, err := parse(text)
	if err != nil {
		return err
	}
	counter := regexp.MustCompile(`^\w+_(total|bucket|count)\b`)
	for series, before := range c.last {
		now, ok := s[series]
		switch {
		case !counter.MatchString(series):
		case !ok:
			s[series] = before
		case now < before:
			c.problem(fmt.Errorf("%s fell from %v to %v", series, before, now))
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = s
	c.scrapes++
	return nil
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

// median returns the median of a quantity. It ignores single overloads and garbage collections.
func median(samples []sample, quantity int) float64 {
	samples = slices.SortedFunc(slices.Values(samples), func(a, b sample) int { return cmp.Compare(a[quantity], b[quantity]) })
	return samples[len(samples)/2][quantity]
}

// grown returns the medians of the middle and the last third of a run, and a problem for each quantity that grew. In the
// first third the program warms up.
func grown(samples []sample) (medians string, problems []string) {
	if len(samples) < fewestSamples {
		return "too few samples to judge growth", nil
	}
	for i, q := range quantities {
		n := len(samples) / 3
		middle, last := median(samples[n:2*n], i), median(samples[2*n:], i)
		text := fmt.Sprintf("%s grew from %.1f to %.1f", q.name, middle, last)
		medians += text + "; "
		if last > growth*middle+q.slack {
			problems = append(problems, text)
		}
	}
	return medians, problems
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
