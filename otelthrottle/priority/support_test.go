package priority_test

import (
	"context"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"unicode"

	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/propagation"

	"github.com/spillway-go/spillway/otelthrottle/priority"
	"github.com/spillway-go/spillway/throttle"
)

// trusting trusts every sender up to important, wary trusts none.
var (
	trusting = throttle.Trust{Peer: always(true), Ceiling: throttle.Important, Default: throttle.Low}
	wary     = throttle.Trust{Peer: always(false), Ceiling: throttle.High, Default: throttle.Low}
)

// unset is a default that no context carries.
const unset = throttle.Priority(100)

func always(trusted bool) func(context.Context) bool {
	return func(context.Context) bool { return trusted }
}

// everywhere and nowhere allow a transport all hosts or none.
func everywhere(*http.Request) bool { return true }
func nowhere(*http.Request) bool    { return false }

func equal[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v want %v", what, got, want)
	}
}

// carrying returns a context that carries the baggage of the text, as a propagator would extract it.
func carrying(text string) context.Context {
	return extracted(http.Header{"Baggage": {text}})
}

func extracted(h http.Header) context.Context {
	return propagation.Baggage{}.Extract(context.Background(), propagation.HeaderCarrier(h))
}

// members returns the text of each member of the baggage of ctx by its key.
func members(ctx context.Context) map[string]string {
	found := make(map[string]string)
	for _, m := range baggage.FromContext(ctx).Members() {
		found[m.Key()] = m.String()
	}
	return found
}

// others is members without those about priority, in disguise or not.
func others(ctx context.Context) map[string]string {
	found := members(ctx)
	maps.DeleteFunc(found, func(key, _ string) bool { return disguised(key) })
	return found
}

// disguised reports whether key is the priority's for a receiver that decodes keys and then trims whatever is not visible.
func disguised(key string) bool {
	decoded, err := url.QueryUnescape(strings.TrimSpace(key))
	hidden := func(r rune) bool { return !unicode.IsGraphic(r) || unicode.IsSpace(r) || r > unicode.MaxASCII }
	return err == nil && strings.TrimFunc(decoded, hidden) == priority.BaggageKey
}

// onward returns what the baggage of ctx says about the priority, empty if nothing.
func onward(ctx context.Context) string {
	return members(ctx)[priority.BaggageKey]
}

// words returns all that the header has to say about the priority, read with the least possible understanding of baggage.
func words(h http.Header) []string {
	var found []string
	for _, member := range strings.Split(strings.Join(h["Baggage"], ","), ",") {
		key, value, _ := strings.Cut(member, "=")
		if key, _, _ = strings.Cut(key, ";"); disguised(key) {
			found = append(found, strings.TrimSpace(value))
		}
	}
	return found
}

// seen is what a handler behind the middleware, or a host behind the transport, got to see.
type seen struct {
	ctx    context.Context
	header http.Header
}

func (s seen) priority() throttle.Priority { return throttle.PriorityFromContext(s.ctx, unset) }

// serve sends a request through the middleware, in ctx and with a baggage header of these lines.
func serve(t *testing.T, ctx context.Context, trust throttle.Trust, lines ...string) seen {
	t.Helper()
	var got seen
	handler := priority.Middleware(trust)(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = seen{r.Context(), r.Header}
		w.WriteHeader(http.StatusTeapot)
	}))
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/", http.NoBody)
	if lines != nil {
		r.Header["Baggage"] = lines
	}
	before, w := r.Header.Clone(), httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	equal(t, "status", w.Code, http.StatusTeapot)
	equal(t, "header of the response", len(w.Header()), 0)
	sameHeader(t, r.Header, before)
	return got
}

// send sends a request through a transport, in ctx and with a baggage header of these lines, and returns what goes out.
func send(t *testing.T, ctx context.Context, allow func(*http.Request) bool, lines ...string) seen {
	t.Helper()
	var got seen
	transport := priority.NewTransport(roundTrip(func(r *http.Request) (*http.Response, error) {
		got = seen{r.Context(), r.Header}
		return &http.Response{StatusCode: http.StatusTeapot, Body: http.NoBody, Request: r}, nil
	}), allow)
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, "http://backend.example/", http.NoBody)
	if lines != nil {
		r.Header["Baggage"] = lines
	}
	before := r.Header.Clone()
	response, err := transport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	equal(t, "status", response.StatusCode, http.StatusTeapot)
	sameHeader(t, r.Header, before)
	return got
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func sameHeader(t *testing.T, got, want http.Header) {
	t.Helper()
	if !maps.EqualFunc(got, want, func(a, b []string) bool { return strings.Join(a, "\n") == strings.Join(b, "\n") }) {
		t.Errorf("header of the caller: got %q want %q", got, want)
	}
}
