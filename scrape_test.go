package spillway_test

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/spillway-go/spillway/otelthrottle"
)

// A scrape is the value of each series of the throttles on a page, by name and labels; those of the scope are left out.
type scrape map[string]float64

// sample is the name of a series in a scrape, with labels given as alternating names and values, without their prefix
// throttle_; a label without a value is left out.
func sample(name string, labels ...string) string {
	var pairs []string
	for i := 0; i+1 < len(labels); i += 2 {
		if labels[i+1] == "" {
			continue
		}
		label := labels[i]
		if label != "error_type" && label != "le" {
			label = "throttle_" + label
		}
		pairs = append(pairs, fmt.Sprintf("%s=%q", label, labels[i+1]))
	}
	slices.Sort(pairs)
	return name + "{" + strings.Join(pairs, ",") + "}"
}

// get returns the page that a server answers with to someone who accepts a format.
func get(t *testing.T, client *http.Client, url, accept string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Accept", accept)
	response, err := client.Do(request)
	if err != nil {
		t.Fatalf("scrape: got error %v want nil", err)
	}
	defer response.Body.Close()
	page, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("scrape: got status %d, error %v and %s want 200", response.StatusCode, err, page)
	}
	return string(page)
}

// parseScrape reads a page in the text format or in OpenMetrics, which differs in the exemplars and in how it writes numbers.
func parseScrape(t *testing.T, page string) scrape {
	t.Helper()
	s := scrape{}
	line := regexp.MustCompile(`^(throttle_\w+)\{(.*?)\} (\S+)(?: # .*)?$`)
	label := regexp.MustCompile(`(\w+)="([^"]*)"`)
	scope := map[string]string{
		"otel_scope_name": otelthrottle.ScopeName, "otel_scope_version": otelthrottle.Version, "otel_scope_schema_url": "",
	}
	for text := range strings.SplitSeq(page, "\n") {
		if !strings.HasPrefix(text, "throttle_") {
			continue
		}
		parts := line.FindStringSubmatch(text)
		if parts == nil {
			t.Fatalf("scrape: got a line that is no sample: %s", text)
		}
		var pairs []string
		scoped := 0
		for _, pair := range label.FindAllStringSubmatch(parts[2], -1) {
			value, isScope := scope[pair[1]]
			switch {
			case !isScope:
				pairs = append(pairs, pair[0])
			case value == pair[2]:
				scoped++
			}
		}
		slices.Sort(pairs)
		key := parts[1] + "{" + strings.Join(pairs, ",") + "}"
		if _, twice := s[key]; twice || scoped != len(scope) {
			t.Errorf("%s: got it twice %v, with %d labels of the scope, want it once with %d", key, twice, scoped, len(scope))
		}
		value, err := strconv.ParseFloat(parts[3], 64)
		if err != nil {
			t.Errorf("%s: got value %s want a number", key, parts[3])
		}
		s[key] = value
	}
	return s
}

// wantText fails the test unless Prometheus' own parser can read the page, and finds these types of metrics on it.
func wantText(t *testing.T, page string, types map[string]string) {
	t.Helper()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(page))
	if err != nil {
		t.Fatalf("text format: got error %v want nil", err)
	}
	got := map[string]string{}
	for name, family := range families {
		if strings.HasPrefix(name, "throttle_") {
			got[name] = strings.ToLower(family.GetType().String())
		}
	}
	if !maps.Equal(got, types) {
		t.Errorf("types: got %v want %v", got, types)
	}
}

// want fails the test unless these are the samples, and no others.
func (s scrape) want(t *testing.T, when string, want scrape) {
	t.Helper()
	all := maps.Clone(s)
	maps.Copy(all, want)
	for _, key := range slices.Sorted(maps.Keys(all)) {
		got, isThere := s[key]
		wanted, isWanted := want[key]
		switch {
		case !isWanted:
			t.Errorf("%s: got %s %v want no such series", when, key, got)
		case !isThere:
			t.Errorf("%s: got no %s want %v", when, key, wanted)
		case got != wanted:
			t.Errorf("%s: got %s %v want %v", when, key, got, wanted)
		}
	}
}

// of returns the samples whose name begins so.
func (s scrape) of(prefix string) scrape {
	some := maps.Clone(s)
	maps.DeleteFunc(some, func(key string, _ float64) bool { return !strings.HasPrefix(key, prefix) })
	return some
}

// An exemplar is what OpenMetrics has behind the value of a bucket.
type exemplar struct{ series, traceID, spanID string }

// exemplars returns all exemplars on a page.
func exemplars(page string) []exemplar {
	var found []exemplar
	line := regexp.MustCompile(`(?m)^(\w+)\{.*?\} \S+ # \{(.*?)\} \S+ \S+$`)
	for _, m := range line.FindAllStringSubmatch(page, -1) {
		x := exemplar{series: m[1]}
		for _, pair := range regexp.MustCompile(`(\w+)="([^"]*)"`).FindAllStringSubmatch(m[2], -1) {
			switch pair[1] {
			case "trace_id":
				x.traceID = pair[2]
			case "span_id":
				x.spanID = pair[2]
			}
		}
		found = append(found, x)
	}
	return found
}
