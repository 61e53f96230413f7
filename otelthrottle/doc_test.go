package otelthrottle_test

import (
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spillway-go/spillway/otelthrottle"
	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/backoff"
	"github.com/spillway-go/spillway/throttle/breaker"
)

// packageComment returns the package comment without its slashes.
func packageComment(t *testing.T) string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "doc.go", nil, parser.ParseComments|parser.PackageClauseOnly)
	if err != nil {
		t.Fatal(err)
	}
	return file.Doc.Text()
}

// codeBlocks returns the indented parts of a comment.
func codeBlocks(comment string) []string {
	var blocks []string
	for part := range strings.SplitSeq(comment, "\n\n") {
		if strings.HasPrefix(part, "\t") {
			blocks = append(blocks, strings.ReplaceAll(strings.TrimPrefix(part, "\t"), "\n\t", "\n"))
		}
	}
	return blocks
}

func TestSetUpOfTheCommentIsTheExample(t *testing.T) {
	blocks := codeBlocks(packageComment(t))
	source, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	example := strings.ReplaceAll(string(source), "\n\t", "\n")
	if len(blocks) < 2 || !strings.Contains(example, "\n"+strings.TrimSpace(blocks[0])+"\n") {
		t.Fatalf("got a first block that is not in example_test.go:\n%s", blocks[0])
	}
	for i, block := range blocks[:2] {
		equal(t, "lines of set-up", strings.Count(strings.TrimSpace(block), "\n")+1, 6)
		if _, err := parser.ParseFile(token.NewFileSet(), "", "package p\nfunc f() {\n"+block+"\n}", 0); err != nil {
			t.Errorf("block %d: got error %v want Go", i, err)
		}
	}
}

// TestCommentTellsTheSchema wants every metric in a row with its instrument, unit and attributes, every series that Prometheus
// shows, every value of the closed sets, and no metric or series that there is not.
func TestCommentTellsTheSchema(t *testing.T) {
	comment := packageComment(t)
	l, e := newScrapedLab(t, setup{options: detailed()})
	everyKind(t, l, throttle.Config{Name: "db"})
	told := map[string]bool{}
	for _, row := range regexp.MustCompile(`(?m)^\t(throttle\.\S+) +(counter|histogram|up-down counter|gauge) +(\S+) *(.*)$`).FindAllStringSubmatch(comment, -1) {
		told[row[1]] = true
		d := schema()[row[1]]
		equal(t, "instrument of "+row[1], row[2], strings.TrimSuffix(d.kind, " of float"))
		equal(t, "unit of "+row[1], row[3], d.unit)
		var keys []string
		for _, set := range d.attributes {
			keys = append(keys, strings.Fields(set)...)
		}
		slices.Sort(keys)
		keys = slices.DeleteFunc(slices.Compact(keys), func(k string) bool {
			return k == "throttle.name" || k == "throttle.priority" || k == "throttle.breaker.name" || k == "throttle.bucket.name" ||
				k == "throttle.backoff.name"
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
		otelthrottle.DecisionAdmitted, otelthrottle.DecisionShed, otelthrottle.DecisionShadowShed, otelthrottle.EventShed,
		string(otelthrottle.KeyCause), string(otelthrottle.KeyErrorType), "accepted", "rejected", "ignored", "own", "above", "_OTHER", "p15",
		otelthrottle.EventBucketDenied, otelthrottle.EventBucketWaited, otelthrottle.ResultGranted, otelthrottle.ResultDenied,
		otelthrottle.ResultFailedOpen, otelthrottle.ResultFailedClosed, string(otelthrottle.KeyBucketSource), string(otelthrottle.KeyBucketTokens),
		string(otelthrottle.KeyBucketRetryAfter), string(otelthrottle.KeyBucketDuration),
		otelthrottle.EventBackoffSlept, string(otelthrottle.KeyBackoffDuration), otelthrottle.DirectionUp + ", " + otelthrottle.DirectionDown,
		backoff.Success.String() + ", " + backoff.Throttled.String() + ", " + backoff.Ignored.String(),
		otelthrottle.EventBreakerShed, closedSet(breaker.NumStates, breaker.Closed), closedSet(breaker.NumFailures, breaker.StoreFailed),
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
