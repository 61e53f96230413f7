package bucket_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/spillway-go/spillway/throttle/bucket"
)

func TestSetDefaultHooks(t *testing.T) {
	t.Cleanup(func() { bucket.SetDefaultHooks(bucket.Hooks{}) })
	var defaults, own []string
	record := func(names *[]string) bucket.Hooks {
		return bucket.Hooks{Created: func(l *bucket.Limiter) { *names = append(*names, l.Name()) }}
	}
	create := func(name string, hooks bucket.Hooks) {
		limiter(t, bucket.Config{Name: name, Limit: bucket.PerSecond(1), Hooks: hooks})
	}
	create("before", bucket.Hooks{})
	bucket.SetDefaultHooks(record(&defaults))
	create("without hooks", bucket.Hooks{})
	create("with hooks", record(&own))
	create("joined", bucket.JoinHooks(bucket.DefaultHooks(), record(&own)))
	create("with another hook", bucket.Hooks{Closed: func(*bucket.Limiter) {}})
	bucket.SetDefaultHooks(bucket.Hooks{})
	create("after", bucket.Hooks{})
	if got, want := strings.Join(defaults, ", "), "without hooks, joined"; got != want {
		t.Errorf("default hooks: got %q want %q", got, want)
	}
	if got, want := strings.Join(own, ", "), "with hooks, joined"; got != want {
		t.Errorf("own hooks: got %q want %q", got, want)
	}
}

// TestSetDefaultHooksWhileLimitersAreCreated finds data races.
func TestSetDefaultHooksWhileLimitersAreCreated(t *testing.T) {
	t.Cleanup(func() { bucket.SetDefaultHooks(bucket.Hooks{}) })
	var work sync.WaitGroup
	for range 4 {
		work.Go(func() { bucket.SetDefaultHooks(bucket.Hooks{Created: func(*bucket.Limiter) {}}) })
		work.Go(func() { _ = bucket.Must(bucket.New(bucket.Config{Name: "x", Limit: bucket.PerSecond(1)})).Close() })
	}
	work.Wait()
}
