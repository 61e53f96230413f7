package spillway_test

import (
	"maps"
	"testing"

	"go.opentelemetry.io/otel/codes"

	"github.com/spillway-go/spillway/throttle"
)

// merged returns all samples; of those that are in several scrapes, the last.
func merged(scrapes ...scrape) scrape {
	all := scrape{}
	for _, s := range scrapes {
		maps.Copy(all, s)
	}
	return all
}

// TestScrapeFromFirstToLast follows the page of a shop through an overload, Close, the return of the name, and Shutdown.
func TestScrapeFromFirstToLast(t *testing.T) {
	s := openShop(t)
	s.scrape().want(t, "without a throttle", scrape{})
	th := s.throttle()
	s.scrape().want(t, "before the first call", atStart())

	s.overload(th)
	now := scrape{
		present("call_active", "low"):                       1,
		present("window_requests", "high"):                  4,
		present("window_accepts", "high"):                   4,
		present("window_requests", "important"):             67,
		present("window_requests", "medium"):                25,
		present("window_requests", "low"):                   1,
		present("window_accepts", "low"):                    1,
		present("rejection_probability_ratio", "important"): 67.0 / (67 + 60),
		present("rejection_probability_ratio", "medium"):    th.RejectionProbability(throttle.Medium),
	}
	if p := now[present("rejection_probability_ratio", "medium")]; p <= 25.0/(25+60) || p >= 1 {
		t.Errorf("probability of medium: got %v want more than its own calls make it, less than 1", p)
	}
	overloaded := merged(atStart(), countedAfterOverload(), durationsAfterOverload(), now)
	s.scrape().want(t, "after the overload", overloaded)
	s.scrape().want(t, "after the overload, again", overloaded)

	sibling := s.throttle()
	_ = th.Close()
	s.scrape().of("throttle_calls").want(t, "one of two closed", overloaded.of("throttle_calls"))
	equalFloat(t, "active calls, one of two closed", s.scrape()[present("call_active", "low")], 0)
	_ = sibling.Close()
	s.scrape().want(t, "all of the name closed", durationsAfterOverload()) // which the SDK keeps

	s.throttle()
	resumed := merged(atStart(), countedAfterOverload(), durationsAfterOverload())
	s.scrape().want(t, "the name is back", resumed)

	if err := s.tel.Shutdown(t.Context()); err != nil {
		t.Fatalf("Shutdown: got error %v want nil", err)
	}
	s.overload(s.throttle())
	s.scrape().want(t, "after Shutdown", durationsAfterOverload())
	if err := s.meters.Shutdown(t.Context()); err != nil {
		t.Fatalf("Shutdown of the MeterProvider: got error %v want nil", err)
	}
	s.scrape().want(t, "after the MeterProvider's Shutdown", scrape{})
}

func equalFloat(t *testing.T, what string, got, want float64) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v want %v", what, got, want)
	}
}

func TestScrapeHasTheTypesOfTheSchema(t *testing.T) {
	s := openShop(t)
	s.overload(s.throttle())
	wantText(t, get(t, s.server.Client(), s.server.URL, acceptText), map[string]string{
		"throttle_calls_total": "counter", "throttle_fallbacks_total": "counter", "throttle_priority_clamped_total": "counter",
		"throttle_call_duration_seconds": "histogram", "throttle_call_active": "gauge",
		"throttle_rejection_probability_ratio": "gauge", "throttle_window_requests": "gauge", "throttle_window_accepts": "gauge",
	})
}

// TestExemplarsAreTheThrottlesSpans finds every exemplar's span among those that have ended, and sees what became of the calls there.
func TestExemplarsAreTheThrottlesSpans(t *testing.T) {
	s := openShop(t)
	th := s.throttle()
	s.overload(th)
	type ids struct{ trace, span string }
	own := map[ids]bool{}
	failed := 0
	for _, span := range s.spans.Ended() {
		if span.Name() != "throttle recommendations" {
			continue
		}
		own[ids{span.SpanContext().TraceID().String(), span.SpanContext().SpanID().String()}] = true
		if span.Status().Code == codes.Error {
			failed++
		}
	}
	const admitted, withError = 3 + 1 + 1 + 60 + 20 + 1 + 1 + 2, 1 + 1 + 60 + 20 + 1
	if len(own) != admitted || failed != withError {
		t.Errorf("spans of the throttle: got %d, %d of them failed, want %d and %d", len(own), failed, admitted, withError)
	}
	found := exemplars(get(t, s.server.Client(), s.server.URL, acceptOpenMetrics))
	if len(found) != 7 { // one for each combination of priority, outcome and error.type, whose calls took equally long
		t.Errorf("exemplars: got %d want 7", len(found))
	}
	for _, x := range found {
		if !own[ids{x.traceID, x.spanID}] || x.series != "throttle_call_duration_seconds_bucket" {
			t.Errorf("exemplar: got %+v want one on a bucket, that leads to a span of the throttle", x)
		}
	}
	if text := exemplars(get(t, s.server.Client(), s.server.URL, acceptText)); len(text) > 0 {
		t.Errorf("exemplars in the text format: got %d want none", len(text))
	}
}
