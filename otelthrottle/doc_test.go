package otelthrottle_test

import (
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/spillway-go/spillway/otelthrottle/semconv"
	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/backoff"
	"github.com/spillway-go/spillway/throttle/breaker"
	"github.com/spillway-go/spillway/throttle/retry"
)

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

// TestCommentHasTheWords finds every value of the closed sets in the comments.
func TestCommentHasTheWords(t *testing.T) {
	comment := packageComment(t)
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
