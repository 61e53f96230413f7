package otelthrottle_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/bucket"
)

// unasked is what a new limiter shows: everything that can be with the default policy, from 0, and its
// limit.
func unasked() snapshot { return unaskedWith("share_granted", "share_denied") }

// unaskedWith is unasked with the results of another policy.
func unaskedWith(ofPolicy ...string) snapshot {
	want := snapshot{tokens: 0, waiting: 0, limit: 10.0 / 60, burst: 10}
	for _, result := range append(ofPolicy, "granted", "denied") {
		want[requests(result)] = 0
	}
	return want
}

// TestBucketsBeginAtZero counts series too, and holds the package comment to the numbers.
func TestBucketsBeginAtZero(t *testing.T) {
	l := newLab(t, setup{})
	l.limiter(t, bucket.Config{})
	l.limiter(t, bucket.Config{Store: newDoubtfulStore(nil)}) // of the same name
	l.read(t).want(t, unasked())
	comment := strings.Join(strings.Fields(packageComment(t)), " ")
	for _, sentence := range []string{
		fmt.Sprintf("A limiter has %d series for any number of keys.", len(unasked())),
		fmt.Sprintf("kind of error. There are %d kinds, of which stores have few. Each is %d series", int(throttle.FaultOther), seriesOfAHistogram),
	} {
		if !strings.Contains(comment, sentence) {
			t.Errorf("package comment: got no %q", sentence)
		}
	}
}

// TestKeysAreNoAttributes asks for tokens of a hundred buckets.
func TestKeysAreNoAttributes(t *testing.T) {
	l := newLab(t, setup{})
	limiter := l.limiter(t, bucket.Config{Store: newDoubtfulStore(nil)})
	for i := range 100 {
		if _, err := limiter.DecideN(t.Context(), fmt.Sprint("user", i), 2); err != nil {
			t.Fatalf("DecideN: got error %v want nil", err)
		}
	}
	want := unasked()
	want[requests("granted")], want[tokens], want[storeDuration("")] = 100, 200, 100
	l.read(t).want(t, want)
}

// TestResultsByPolicy has a store that never answers, and each policy.
func TestResultsByPolicy(t *testing.T) {
	for _, tt := range []struct {
		policy bucket.FailurePolicy
		want   snapshot
	}{
		{bucket.FailOpen, snapshot{requests("failed_open"): 3, tokens: 3}},
		{bucket.FailClosed, snapshot{requests("failed_closed"): 3}},
		{bucket.LocalShare, snapshot{requests("share_granted"): 2, requests("share_denied"): 1, tokens: 2}},
	} {
		t.Run(tt.policy.String(), func(t *testing.T) {
			l := newLab(t, setup{})
			limiter := l.limiter(t, bucket.Config{Store: newDoubtfulStore(errPlain), OnFailure: tt.policy, Replicas: 5})
			take(t.Context(), t, limiter, 3)
			want := unasked()
			if tt.policy != bucket.LocalShare {
				want = unaskedWith("failed_open", "failed_closed")
			}
			maps.Copy(want, tt.want)
			want[storeDuration("_OTHER")] = 3
			l.read(t).want(t, want)
		})
	}
}

// TestWaitingIsTheLengthOfTheLine looks at a line while it is long, when it is gone, and when its limiter is closed.
func TestWaitingIsTheLengthOfTheLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, setup{})
		limiter, other := l.limiter(t, bucket.Config{Limit: bucket.PerSecond(1)}), l.limiter(t, bucket.Config{})
		equal(t, "granted", take(t.Context(), t, limiter, 2), 1)
		var line sync.WaitGroup
		wait := func(n int) {
			for range n {
				line.Go(func() {
					if err := limiter.Wait(context.Background(), "", 1); err != nil && !errors.Is(err, bucket.ErrClosed) {
						t.Errorf("Wait: got error %v want nil or %v", err, bucket.ErrClosed)
					}
				})
			}
			synctest.Wait()
		}
		want := unasked()
		want[limit] = 1 // the highest of both
		wait(3)
		want[waiting], want[requests("granted")], want[requests("denied")], want[tokens] = 3, 1, 1, 1
		l.read(t).want(t, want)

		time.Sleep(5 * time.Second)
		want[waiting], want[requests("granted")], want[tokens] = 0, 4, 4
		l.read(t).want(t, want)

		equal(t, "granted", take(t.Context(), t, limiter, 1), 1)
		wait(2)
		_ = limiter.Close() // ends all waits
		want[limit] = 10.0 / 60
		want[requests("granted")], want[tokens] = 5, 5
		l.read(t).want(t, want)
		line.Wait()
		l.read(t).want(t, want)
		_ = other.Close()
		l.read(t).want(t, snapshot{})
	})
}

// TestStoresErrorTypesAreAClosedSet has a store fail in every way.
func TestStoresErrorTypesAreAClosedSet(t *testing.T) {
	for _, err := range errorsOfEveryFault() {
		l := newLab(t, setup{})
		limiter := l.limiter(t, bucket.Config{Store: newDoubtfulStore(fmt.Errorf("user 17: %w", err))})
		take(t.Context(), t, limiter, 1)
		word := throttle.FaultOf(err).String()
		if word == "other" {
			word = "_OTHER"
		}
		equal(t, "failures of type "+word, l.read(t)[storeDuration(word)], 1)
	}
}
