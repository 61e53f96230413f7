package priority_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/spillway-go/spillway/otelthrottle/priority"
	"github.com/spillway-go/spillway/throttle"
)

func TestTransport(t *testing.T) {
	plain := context.Background()
	low := throttle.WithPriority(plain, throttle.Low)
	for name, c := range map[string]struct {
		ctx   context.Context
		allow func(*http.Request) bool
		lines []string
		want  string
	}{
		"allowed":                         {low, everywhere, nil, "[throttle.priority=low]"},
		"allowed, without a name":         {throttle.WithPriority(plain, 7), everywhere, nil, "[throttle.priority=p7]"},
		"allowed, a mistake":              {throttle.WithPriority(plain, -1), everywhere, nil, "[throttle.priority=p15]"},
		"allowed, no priority":            {plain, everywhere, nil, "[]"},
		"allowed, other baggage":          {low, everywhere, []string{"a=1;p, b=%20", "c"}, "[a=1;p, b=%20,c,throttle.priority=low]"},
		"allowed, no priority, others":    {plain, everywhere, []string{"a=1", "b"}, "[a=1 b]"},
		"allowed, unaccepted":             {plain, everywhere, []string{"throttle.priority=high,a=1"}, "[a=1]"},
		"allowed, unaccepted alone":       {plain, everywhere, []string{"throttle.priority=high"}, "[]"},
		"allowed, replaced":               {low, everywhere, []string{"throttle.priority=high,a=1"}, "[a=1,throttle.priority=low]"},
		"allowed, there already":          {low, everywhere, []string{"throttle.priority=low;p,a=1"}, "[throttle.priority=low;p,a=1]"},
		"allowed, there twice":            {low, everywhere, []string{"throttle.priority=low,a=1", "throttle.priority=low"}, "[a=1,throttle.priority=low]"},
		"allowed, disguised":              {low, everywhere, []string{"throttle%2Epriority=low"}, "[throttle.priority=low]"},
		"allowed, empty":                  {plain, everywhere, []string{"throttle.priority="}, "[]"},
		"not allowed":                     {low, nowhere, nil, "[]"},
		"not allowed, others":             {low, nowhere, []string{"a=1", "b"}, "[a=1 b]"},
		"not allowed, there already":      {low, nowhere, []string{"throttle.priority=low,a=1"}, "[a=1]"},
		"nil allows nobody":               {low, nil, nil, "[]"},
		"nil allows nobody, not by hand":  {low, nil, []string{"a=1,throttle.priority=low"}, "[a=1]"},
		"the context's baggage is not us": {throttle.WithPriority(carrying("a=1"), throttle.Low), everywhere, nil, "[throttle.priority=low]"},
	} {
		t.Run(name, func(t *testing.T) {
			lines, found := send(t, c.ctx, c.allow, c.lines...).header["Baggage"]
			equal(t, "header", fmt.Sprint(lines), c.want)
			equal(t, "header that is there", found, c.want != "[]")
		})
	}
}

func TestTransportWithoutHeader(t *testing.T) {
	r := (&http.Request{URL: nil}).WithContext(throttle.WithPriority(t.Context(), throttle.Low))
	var got http.Header
	transport := priority.NewTransport(roundTrip(func(r *http.Request) (*http.Response, error) {
		got = r.Header
		return nil, errors.ErrUnsupported
	}), everywhere)
	_, err := transport.RoundTrip(r) //nolint:bodyclose // there is none
	if !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("error: got %v want the base's", err)
	}
	equal(t, "header", got.Get("Baggage"), "throttle.priority=low")
	equal(t, "header of the caller", len(r.Header), 0)
}

// A request that needs no change is not copied.
func TestTransportPassesOn(t *testing.T) {
	low := throttle.WithPriority(carrying(many(64)), throttle.Low)
	for name, c := range map[string]struct {
		ctx     context.Context
		allow   func(*http.Request) bool
		baggage string
	}{
		"not allowed":         {throttle.WithPriority(carrying("a=1"), throttle.Low), nowhere, "b=2"},
		"without a priority":  {carrying("a=1"), everywhere, "b=2"},
		"says it already":     {low, everywhere, "b=2,throttle.priority=low"},
		"has no room for it":  {low, everywhere, many(64)},
		"has nothing to keep": {context.Background(), nil, ""},
	} {
		r := httptest.NewRequestWithContext(c.ctx, http.MethodGet, "/", http.NoBody)
		r.Header.Set("Baggage", c.baggage)
		transport := priority.NewTransport(roundTrip(func(sent *http.Request) (*http.Response, error) {
			equal(t, name, sent, r)
			return &http.Response{Body: http.NoBody}, nil
		}), c.allow)
		response, err := transport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
	}
}

// closer is a transport that counts how often its idle connections were closed.
type closer struct {
	roundTrip
	closed int
}

func (c *closer) CloseIdleConnections() { c.closed++ }

func TestCloseIdleConnections(t *testing.T) {
	base := &closer{}
	(&http.Client{Transport: priority.NewTransport(base, nil)}).CloseIdleConnections()
	equal(t, "closed", base.closed, 1)
	(&http.Client{Transport: priority.NewTransport(base.roundTrip, nil)}).CloseIdleConnections()
}
