package otelthrottle_test

import (
	"context"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spillway-go/spillway/otelthrottle/semconv"
	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/backoff"
	"github.com/spillway-go/spillway/throttle/breaker"
	"github.com/spillway-go/spillway/throttle/retry"
)

// packageComment returns the comments of the package and of semconv without their slashes.
func packageComment(t *testing.T) string {
	t.Helper()
	var comment strings.Builder
	for _, name := range []string{"doc.go", "semconv/doc.go"} {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments|parser.PackageClauseOnly)
		if err != nil {
			t.Fatal(err)
		}
		comment.WriteString(file.Doc.Text())
	}
	return comment.String()
}

func TestSetUpOfTheCommentIsTheExample(t *testing.T) {
	source, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile(`(?m)(^\t.*\n)+`).FindAllString(packageComment(t), 2)
	if len(blocks) < 2 || !strings.Contains(string(source), blocks[0]) {
		t.Fatalf("got a first block that is not in example_test.go: %q", blocks)
	}
	if _, err := parser.ParseFile(token.NewFileSet(), "", "package p\nfunc f() {\n"+blocks[1]+"}", 0); err != nil {
		t.Errorf("second block: got error %v want Go", err)
	}
}

// TestCommentHasTheSchema finds every metric in a row with its instrument, unit and attributes, every series that Prometheus
// shows, every value of the closed sets, and no metric or series that there is not.
func TestCommentHasTheSchema(t *testing.T) {
	comment := packageComment(t)
	l, e := newScrapedLab(t, setup{options: everything()})
	everyKind(t, l, throttle.Config{Name: "db"})
	told := map[string]bool{}
	for _, row := range regexp.MustCompile(`(?m)^\t((?:throttle|spillway)\.\S+) +(counter|histogram|up-down counter|gauge) +(\S+) *(.*)$`).FindAllStringSubmatch(comment, -1) {
		told[row[1]] = true
		d := schema()[row[1]]
		equal(t, "instrument of "+row[1], row[2], strings.TrimSuffix(d.kind, " of float"))
		equal(t, "unit of "+row[1], strings.Trim(row[3], "-"), d.unit) // - is no unit
		var keys []string
		for _, set := range d.attributes {
			keys = append(keys, strings.Fields(set)...)
		}
		slices.Sort(keys)
		keys = slices.DeleteFunc(slices.Compact(keys), func(k string) bool {
			return k == "throttle.name" || k == "throttle.priority" || k == "throttle.breaker.name" || k == "throttle.bucket.name" ||
				k == "throttle.backoff.name" || k == "throttle.retry.name"
		})
		attributes := slices.DeleteFunc(strings.Split(row[4], ", "), func(k string) bool { return k == "" })
		slices.Sort(attributes)
		equal(t, "attributes of "+row[1], strings.Join(attributes, " "), strings.Join(keys, " "))
	}
	equal(t, "metrics in the comment", len(told), len(schema()))

	var families []string
	for _, line := range regexp.MustCompile(`(?m)^# TYPE (throttle_\S+)`).FindAllStringSubmatch(e.scrape(t, ""), -1) {
		families = append(families, line[1])
	}
	var listed []string
	for _, line := range regexp.MustCompile(`(?m)^\t(throttle_\S+)$`).FindAllStringSubmatch(comment, -1) {
		listed = append(listed, line[1])
	}
	slices.Sort(families)
	slices.Sort(listed)
	equal(t, "series", strings.Join(listed, " "), strings.Join(families, " "))
	for _, word := range []string{
		semconv.DecisionAdmitted, semconv.DecisionShed, semconv.DecisionShadowShed, "throttle.shed",
		string(semconv.KeyCause), string(semconv.KeyErrorType), "accepted", "rejected", "ignored", "own", "above", "_OTHER", "p15",
		"throttle.bucket.denied", "throttle.bucket.waited", semconv.ResultGranted, semconv.ResultDenied,
		semconv.ResultFailedOpen, semconv.ResultFailedClosed, "throttle.bucket.source", string(semconv.KeyBucketTokens),
		"throttle.bucket.retry_after", "throttle.bucket.duration",
		"throttle.backoff.slept", "throttle.backoff.duration", semconv.DirectionUp + ", " + semconv.DirectionDown,
		backoff.Success.String() + ", " + backoff.Throttled.String() + ", " + backoff.Ignored.String(),
		"throttle.policy.changed", closedSet(len(alertReasons()), throttle.NoAlert),
		"throttle.retry.denied", semconv.RetrySent + ", " + semconv.RetryDenied, closedSet(int(retry.ReasonOnce)+1, retry.ReasonBudget),
		"throttle.breaker.shed", closedSet(len(breaker.Stats{}.Calls), breaker.Closed), closedSet(int(breaker.NotRunning)+1, breaker.StoreFailed),
	} {
		if !strings.Contains(comment, word) {
			t.Errorf("package comment: got no %s", word)
		}
	}
}

// closedSet returns all n words of a closed set, as the comment lists them.
func closedSet[W interface {
	~uint8
	String() string
}](n int, first W) string {
	words := make([]string, n)
	for i := range words {
		words[i] = (first + W(i)).String()
	}
	return strings.Join(words, ", ")
}

// TestSeries_inTheComment holds the package comment to the numbers of series.
func TestSeries_inTheComment(t *testing.T) {
	text, err := os.ReadFile("testdata/series_new.txt")
	if err != nil {
		t.Fatal(err)
	}
	of := func(name string) int {
		return strings.Count(string(text), "name="+name+",") + strings.Count(string(text), "name="+name+"}")
	}
	l := newLab(t, setup{})
	l.throttle(t, throttle.Config{Name: "db"})
	start := l.read(t)
	perPriority := 0
	for key := range start {
		if strings.Contains(key, "throttle.priority=important") {
			perPriority++
		}
	}
	more := len(start) - 4*perPriority

	const faults, causes, outcomes = int(throttle.FaultOther) + 1, int(throttle.CauseAbove) + 1, int(throttle.Shed)
	comment := strings.Join(strings.Fields(packageComment(t)), " ")
	for _, sentence := range []string{
		fmt.Sprintf("starts with %d series per priority and %d more: %d with four priorities", perPriority, more, len(start)),
		fmt.Sprintf("With the policy SRE there are %d fewer", len(alertReasons())+1),
		fmt.Sprintf("at most %d of throttle.calls", outcomes*faults+causes+causes*outcomes*faults),
		fmt.Sprintf("%d of throttle.fallbacks", (outcomes+1)*faults),
		fmt.Sprintf("%d of throttle.call.duration", outcomes*faults),
		fmt.Sprintf("each %d series in Prometheus", seriesOfAHistogram),
		fmt.Sprintf("about %d ways to end", defaultEndings(t)),
		fmt.Sprintf("A breaker has %d series for any number of circuits, one more with FailClosed", of("webhooks")+1), // the age of its snapshot
		fmt.Sprintf("A limiter has %d series for any number of keys.", of("geocoder")),
		fmt.Sprintf("kind of error. There are %d kinds, of which stores have few. Each is %d series", int(throttle.FaultOther), seriesOfAHistogram),
		fmt.Sprintf("A Responsive has %d series, and after the first wait one of throttle.backoff.sleep.duration, which is %d in Prometheus", of("table"), seriesOfAHistogram),
		fmt.Sprintf("A Retrier has %d series with three attempts", of("orders")),
	} {
		if !strings.Contains(comment, sentence) {
			t.Errorf("package comment: got no %q", sentence)
		}
	}
}

// seriesOfAHistogram is how many series one set of attributes of the histogram is in Prometheus: 15 buckets, that of everything, the sum
// and the count.
const seriesOfAHistogram = 15 + 3

// defaultEndings counts the ways in which a call can end with the default classification.
func defaultEndings(t *testing.T) int {
	l := newLab(t, setup{})
	th := l.throttle(t, throttle.Config{Name: "db", Mode: throttle.ModeOff})
	for _, err := range append(errorsOfEveryFault(), nil) {
		if errors.Is(err, throttle.ErrPanicked) { // which is no error that a function returns
			_ = survive(func() { _ = th.Do(t.Context(), throttle.High, func(context.Context) error { panic("boom") }) })
			continue
		}
		times(1, th, throttle.High, err)
	}
	return len(l.read(t).of(semconv.MetricCallDuration))
}
