package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/examples/storefront/shop"
	"github.com/spillway-go/spillway/throttle"
)

// output returns the text that a run prints, on virtual time and without a server.
func output(t *testing.T, flags string, duration time.Duration) string {
	t.Helper()
	var out strings.Builder
	synctest.Test(t, func(t *testing.T) {
		s := settingsOf(t, flags)
		f := throttle.Must(newStorefront(t.Context(), s, io.Discard, nothing))
		ctx, cancel := context.WithTimeout(t.Context(), duration)
		defer cancel()
		r := newReport(&out, s)
		f.run(ctx, r)
		r.summarize(f.shop.Settings())
		f.closeStreams()
		if err := f.close(context.Background()); err != nil || r.err != nil {
			t.Errorf("close: got error %v, of writing %v want nil", err, r.err)
		}
	})
	return out.String()
}

func figure(t *testing.T, text, label string) float64 {
	t.Helper()
	m := regexp.MustCompile(`(?m)^  ` + label + ` +([0-9.]+) %`).FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("summary: got no %s in\n%s", label, text)
	}
	var x float64
	if _, err := fmt.Sscan(m[1], &x); err != nil {
		t.Fatal(err)
	}
	return x
}

func TestTheOverloadsSummary(t *testing.T) {
	text := ""
	for _, tt := range []struct {
		flags string
		least float64
	}{{"-policy sre", 60}, {"", 92}} {
		text = output(t, "-scenario overload "+tt.flags, 20*time.Second)
		goodput, twin := figure(t, text, "goodput"), figure(t, text, "without a throttle")
		high, low := figure(t, text, "success high"), figure(t, text, "success low")
		if goodput <= tt.least || twin >= 50 || high <= low+30 {
			t.Errorf("summary: got goodput %v, without %v, high %v, low %v want more than %v, less than 50, high far above low\n%s",
				goodput, twin, high, low, tt.least, text)
		}
	}
	for _, want := range []string{
		"since the overload began: load 4 x 400 calls/s, backend up, throttle on, policy tiered",
		" -- load 4 x 400 calls/s, backend up, throttle on, policy tiered\n",
		"of capacity\n", "of checkout\n", "of recommendations; ",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("output: got\n%s\nwant in it %q", text, want)
		}
	}
	lines := regexp.MustCompile(`(?m)^ +\d+ s `).FindAllString(text, -1)
	if len(lines) != 20 || !strings.Contains(text, "The last 17 s,") {
		t.Errorf("output: got %d lines want 20, and a summary of 17 s\n%s", len(lines), text)
	}
}

func TestTheCalmsSummary(t *testing.T) {
	text := output(t, "-load 0.5", 25*time.Second)
	if got := figure(t, text, "goodput"); got < 98 {
		t.Errorf("goodput: got %v want 98 at least", got)
	}
	if !strings.Contains(text, "The last 10 s: load 0.5 x 400 calls/s") || !strings.Contains(text, "of the offered calls") {
		t.Errorf("summary: got\n%s\nwant one of the last 10 s, of the offered calls", text)
	}
	equal(t, "headings", strings.Count(text, "offered/s"), 2)
}

func TestNothingSucceedsDuringAnOutage(t *testing.T) {
	text := output(t, "-scenario outage", 30*time.Second)
	if !regexp.MustCompile(`(?m)^ +10 s +\d+ +0 +- +- +0 `).MatchString(text) {
		t.Errorf("output: got\n%s\nwant no goodput and no success in the tenth second", text)
	}
	if !strings.Contains(text, "backend down,") || !strings.Contains(text, "-- load 0.8 x 400 calls/s, backend up,") {
		t.Errorf("output: got\n%s\nwant the backend down, and up again", text)
	}
	if text = output(t, "-load 0", 3*time.Second); !strings.Contains(text, "goodput                   - of nothing: no calls, or no capacity\n") {
		t.Errorf("output without a visitor: got\n%s\nwant no goodput", text)
	}
}

func TestAScenarioGoesOnUntilTheVisitorTakesOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := build(t, "-scenario brownout")
		go func() {
			time.Sleep(2 * time.Second)
			for _, change := range []string{`{"throttle":"off"}`, `{"policy":"tiered"}`, `{"load":99}`} { // which do not stop the scenario
				post(t, f.handler(""), jsonType, change)
			}
			time.Sleep(4 * time.Second)
			post(t, f.handler(""), jsonType, `{"load":3,"backend":"up"}`)
		}()
		f.scenario.run(t.Context())
		if now := f.shop.Settings(); now.Load != 3 || now.Backend.String() != "up" || now.Throttled {
			t.Errorf("settings: got %+v want what the visitor said", now)
		}
		if begun, ok := f.scenario.disturbedSince(); !ok || time.Since(begun) != time.Second {
			t.Errorf("disturbance: got it since %v, %v want a second", begun, ok)
		}
		if f.scenario.apply(func(s *shop.Settings) { s.Load = 4 }) || f.shop.Settings().Load != 3 {
			t.Error("the scenario goes on want it ended by the visitor")
		}
	})
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("disk full") }
