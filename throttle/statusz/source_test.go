package statusz

import (
	"fmt"
	"math"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle"
)

// status returns a source that is always so.
func status(s Status) Source { return SourceFunc(func() Status { return s }) }

func TestSource_addAndRemove(t *testing.T) {
	onPage(t, func(t *testing.T, p *Page) {
		p.Add(status(Status{Kind: "bucket", Name: "exports", State: "full"}))
		p.Add(status(Status{Kind: "breaker", Name: "b", State: "open", Level: Bad}))
		remove := p.Add(status(Status{Kind: "breaker", Name: "a", State: "half-open", Level: Warn}))
		p.Add(status(Status{}))
		shown := func() string {
			tick()
			var words []string
			for _, s := range show(t, p).Sources {
				words = append(words, strings.Join([]string{s.Kind, s.Name, s.State, s.Level}, " "))
			}
			return strings.Join(words, ", ")
		}
		show(t, p)
		if got, want := shown(), "breaker a half-open warn, breaker b open bad, bucket exports full ok, source   ok"; got != want {
			t.Errorf("got %q want %q", got, want)
		}
		remove()
		remove()
		if got, want := shown(), "breaker b open bad, bucket exports full ok, source   ok"; got != want {
			t.Errorf("after remove: got %q want %q", got, want)
		}
	})
}

func TestSource_nil(t *testing.T) {
	p := New()
	defer p.Close()
	for _, page := range []*Page{p, nil, {}} {
		for _, s := range []Source{nil, SourceFunc(nil)} {
			func() {
				defer func() {
					if got := recover(); got != "statusz: Page.Add: Source is nil" {
						t.Errorf("Add(%T): got panic %v", s, got)
					}
				}()
				page.Add(s)
			}()
		}
	}
}

func TestSource_limits(t *testing.T) {
	many := make([]Figure, 100)
	for i := range many {
		many[i] = Figure{Name: fmt.Sprint(i), Value: float64(i)}
	}
	many[1].Value, many[2].Value, many[3].Value = math.NaN(), math.Inf(1), math.Inf(-1)
	changes := make([]Transition, 100)
	for i := range changes {
		changes[i] = Transition{Time: time.Unix(int64(i), 0), To: fmt.Sprint(i)}
	}
	changes[98].Time = time.Time{}
	changes[99].Time = time.Date(12345, 1, 1, 0, 0, 0, 0, time.UTC)
	doc := sourceDocumentOf(Status{Name: strings.Repeat("é", 5000), Level: 77, Figures: many, Transitions: changes})
	if len(doc.Figures) != maxFigures || *doc.Figures[0].Value != 0 || *doc.Figures[4].Value != 4 {
		t.Errorf("got %d figures want the first %d", len(doc.Figures), maxFigures)
	}
	for _, i := range []int{1, 2, 3} {
		if doc.Figures[i].Value != nil {
			t.Errorf("figure %v: got %v want none", many[i].Value, *doc.Figures[i].Value)
		}
	}
	if n := len(doc.Transitions); n != maxTransitions || doc.Transitions[0] != (transitionDocument{"1970-01-01T00:01:30.000Z", "", "90"}) {
		t.Errorf("got %d transitions, the first %v", n, doc.Transitions[0])
	}
	if doc.Transitions[8].Time != "" || doc.Transitions[9].Time != "" {
		t.Errorf("no time, and a year of five digits: got %q and %q want none", doc.Transitions[8].Time, doc.Transitions[9].Time)
	}
	if doc.Level != "bad" || doc.Name != strings.Repeat("é", 1000)+"…" {
		t.Errorf("got level %s, a name of %d bytes", doc.Level, len(doc.Name))
	}
	if len(encode(&document{Sources: []sourceDocument{doc}})) == 0 {
		t.Error("got no JSON")
	}
}

func TestSource_panic(t *testing.T) {
	for problem, fail := range map[string]func(){
		"panicked: " + strings.Repeat("x", 490) + "…": func() { panic(strings.Repeat("x", 9999)) },
		"ended its goroutine":                         runtime.Goexit,
	} {
		onPage(t, func(t *testing.T, p *Page) {
			var fails atomic.Bool
			p.Add(SourceFunc(func() Status {
				if fails.Load() {
					fail()
				}
				return Status{Kind: "breaker", Name: "b", State: "closed"}
			}))
			p.Add(status(Status{Kind: "well", Name: "w"}))
			for moment, kind := range []string{"source", "breaker", "breaker"} { // it fails, works, and fails again
				fails.Store(moment != 1)
				show(t, p)
				tick()
				all := show(t, p).Sources
				if len(all) != 2 || all[1].Kind != "well" {
					t.Fatalf("moment %d: got %v want the source and another one", moment, all)
				}
				want := sourceDocument{Kind: kind, Error: problem, Level: "bad"}
				if moment == 1 {
					want.Error, want.Level = "", "ok"
				}
				if got := all[0]; got.Kind != want.Kind || got.Error != want.Error || got.Level != want.Level {
					t.Errorf("moment %d: got %+v want %+v", moment, got, want)
				}
			}
		})
	}
}

// TestSource_blocks has a source that does not return for a minute. Other sources are polled meanwhile; it is not.
func TestSource_blocks(t *testing.T) {
	onPage(t, func(t *testing.T, p *Page) {
		var asked atomic.Int64
		answer := make(chan struct{})
		p.Add(SourceFunc(func() Status {
			asked.Add(1)
			<-answer
			return Status{Kind: "breaker", Name: "slow", State: "closed"}
		}))
		p.Add(status(Status{Kind: "bucket", Name: "quick"}))
		viewer := host(t, p).subscribe(t)
		started := time.Now()
		for i := range 61 {
			if _, _, err := viewer.next(); err != nil {
				t.Fatalf("event %d: %v", i, err)
			}
			want := time.Duration(i) * sampleInterval
			if i == 0 {
				want = pollTimeout // it may yet answer
			}
			if took := time.Since(started); took != want {
				t.Errorf("event %d: got it after %v want %v", i, took, want)
			}
			newThrottle(t, p, throttle.Config{Name: fmt.Sprint(i), Priorities: 1})
		}
		if got := asked.Load(); got != 1 {
			t.Errorf("got %d questions to a source that has not answered the first, want 1", got)
		}
		sources := show(t, p).Sources
		if len(sources) != 2 || sources[0].Name != "quick" || sources[1].Error != "has not returned since 00:00:00 UTC" {
			t.Errorf("got %v", sources)
		}
		close(answer)
		time.Sleep(2 * sampleInterval)
		synctest.Wait()
		if got := show(t, p).Sources[0]; got.Name != "slow" || got.Error != "" || got.State != "closed" {
			t.Errorf("after the answer: got %v", got)
		}
	})
}

// TestSource_noLockHeld calls back into the page from all functions of the user.
func TestSource_noLockHeld(t *testing.T) {
	onPage(t, func(t *testing.T, p *Page) {
		busy := func() {
			_ = newThrottle(t, p, throttle.Config{Name: "inner"}).Close()
			p.Add(status(Status{}))()
			request(p, "HEAD", "/")
		}
		p.Add(SourceFunc(func() Status {
			busy()
			return Status{Kind: "breaker", Name: "b"}
		}))
		newThrottle(t, p, throttle.Config{Name: "orders", Now: func() time.Time {
			busy()
			return time.Now()
		}})
		if doc := show(t, p); len(doc.Throttles) != 1 || len(doc.Sources) != 1 || doc.Sources[0].Error != "" {
			t.Errorf("got %v, %v", doc.Throttles, doc.Sources)
		}
	})
}

// TestRegistry_clockBlocksOrPanics has a Config.Now that fails or blocks the sampling. Calls and other throttles go on.
func TestRegistry_clockBlocksOrPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New()
		var blocks, panics, ends atomic.Bool
		free := make(chan struct{})
		newThrottle(t, p, throttle.Config{Name: "stuck", Now: func() time.Time {
			if panics.Load() {
				panic("the clock is broken")
			}
			if ends.Load() {
				runtime.Goexit()
			}
			if blocks.Load() {
				<-free
			}
			return time.Now()
		}})
		healthy := newThrottle(t, p, throttle.Config{Name: "healthy"})
		panics.Store(true)
		if doc := show(t, p); len(doc.Throttles) != 2 || find(t, doc, "stuck").Instances != 1 {
			t.Errorf("a clock that panics: got %v", doc.Throttles)
		}
		panics.Store(false)
		ends.Store(true)
		tick()
		if doc := show(t, p); len(doc.Throttles) != 1 || find(t, doc, "healthy").Instances != 1 {
			t.Errorf("a clock that ends its goroutine: got %d rows want 1", len(doc.Throttles))
		}
		ends.Store(false)
		tick()
		if doc := show(t, p); len(doc.Throttles) != 2 {
			t.Errorf("a clock that works again: got %d rows want 2", len(doc.Throttles))
		}
		blocks.Store(true)
		time.Sleep(2 * sampleInterval)
		synctest.Wait()
		call(healthy, throttle.High, 10, nil)
		_ = healthy.Close()
		_ = newThrottle(t, p, throttle.Config{Name: "another"}).Close()
		_ = p.Close()
		close(free)
	})
}

// TestSource_slowAfterAPause: a source answered after the last viewer had left. The next one is shown its
// present state, or that it is slow.
func TestSource_slowAfterAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New()
		defer time.Sleep(time.Second)
		defer p.Close()
		var state atomic.Value
		state.Store("closed")
		p.Add(SourceFunc(func() Status {
			s := state.Load().(string)
			time.Sleep(300 * time.Millisecond)
			return Status{Kind: "breaker", Name: "b", State: s}
		}))
		show(t, p)
		tick()
		time.Sleep(time.Hour)
		state.Store("open")
		if s := show(t, p).Sources[0]; s.State != "open" && s.Error == "" {
			t.Errorf("got %q without an error want open", s.State)
		}
	})
}
