package statusz

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle"
)

// record adds the next event to a text, with a line for each of its fields.
func (s *subscription) record(t *testing.T, to *strings.Builder, step string) {
	t.Helper()
	name, data, err := s.next()
	if err != nil {
		t.Fatalf("%s: %v", step, err)
	}
	fmt.Fprintf(to, "# %s: %s\n", step, name)
	delete(data, "faults") // as package throttle has them
	for _, field := range slices.Sorted(maps.Keys(data)) {
		value, err := json.Marshal(data[field])
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(to, "%s %s\n", field, value)
	}
}

// TestStream_golden compares the events of a stream with testdata/stream.txt. Each has what has changed, and nothing else. A second
// viewer gets the history.
func TestStream_golden(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New()
		defer p.Close()
		p.process = process{Command: "shop", Host: "web-7", PID: 4711, Go: "go1.26.0", Started: timestamp(time.Now())}
		var overloaded atomic.Bool
		p.stats = func() (s throttle.ProcessorStats) {
			if overloaded.Load() {
				s = overloadedProcess()
			}
			return s
		}
		busy := newThrottle(t, p, throttle.Config{Name: "busy", Policy: throttle.SRE, Priorities: 2, Slow: 100 * time.Millisecond})
		hosts := newGroup(t, p, throttle.Config{Name: "hosts", Priorities: 1})
		member := throttle.Must(hosts.Get("a"))
		call(busy, throttle.Important, 9, nil)
		s := host(t, p)
		viewer := s.subscribe(t)
		if got := viewer.response.Header.Get("Content-Type"); got != "text/event-stream; charset=utf-8" {
			t.Errorf("got content type %q", got)
		}
		var remove func()
		var got strings.Builder
		for _, step := range []struct {
			name string
			do   func()
		}{
			{"all", func() {}},
			{"nothing new", func() {}},
			{"a call, and one that is rejected", func() { call(busy, throttle.High, 1, nil); call(busy, throttle.High, 1, down()) }},
			{"a late call", func() {
				c := throttle.Must(busy.Admit(t.Context(), throttle.High))
				time.Sleep(sampleInterval / 2)
				busy.Stats()
				c.Done(nil)
			}},
			{"settings", func() { _ = busy.Tune(throttle.Patch{Mode: new(throttle.ModeOff), Slow: new(throttle.Duration(0))}) }},
			{"calls of a member", func() { call(member, throttle.High, 2, nil) }},
			{"a member less, and one of no group", func() { newThrottle(t, p, throttle.Config{Name: "hosts", Priorities: 1}); _ = member.Close() }},
			{"requests wait for a processor", func() { overloaded.Store(true) }},
			{"a source, and a throttle less", func() {
				_ = busy.Close()
				remove = p.Add(status(Status{Kind: "breaker", Name: "b", State: "open"}))
			}},
			{"nothing new of the source", func() {}},
			{"a source less", func() { remove() }},
		} {
			step.do()
			viewer.record(t, &got, step.name)
		}
		s.subscribe(t).record(t, &got, "a second viewer")
		want, err := os.ReadFile("testdata/stream.txt")
		if err != nil || got.String() != string(want) {
			t.Errorf("got\n%s\nwant testdata/stream.txt (%v)", got.String(), err)
		}
	})
}
