package priority_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/spillway-go/spillway/otelthrottle/priority"
	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/httpthrottle"
	"github.com/spillway-go/spillway/throttle/retry"
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
		"allowed, no priority":            {plain, everywhere, nil, "[]"},
		"allowed, other baggage":          {low, everywhere, []string{"a=1;p, b=%20", "c"}, "[a=1;p, b=%20,c,throttle.priority=low]"},
		"allowed, no priority, others":    {plain, everywhere, []string{"a=1", "b"}, "[a=1 b]"},
		"allowed, unaccepted":             {plain, everywhere, []string{"throttle.priority=high,a=1"}, "[a=1]"},
		"allowed, replaced":               {low, everywhere, []string{"throttle.priority=high,a=1"}, "[a=1,throttle.priority=low]"},
		"allowed, there already":          {low, everywhere, []string{"throttle.priority=low;p,a=1"}, "[throttle.priority=low;p,a=1]"},
		"allowed, there twice":            {low, everywhere, []string{"throttle.priority=low,a=1", "throttle.priority=low"}, "[a=1,throttle.priority=low]"},
		"allowed, disguised":              {low, everywhere, []string{"throttle%2Epriority=low"}, "[throttle.priority=low]"},
		"allowed, empty":                  {plain, everywhere, []string{"throttle.priority="}, "[]"},
		"not allowed":                     {low, nowhere, nil, "[]"},
		"not allowed, there already":      {low, nowhere, []string{"throttle.priority=low,a=1"}, "[a=1]"},
		"nil allows nobody":               {low, nil, nil, "[]"},
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

// TestTransportBelowRetries sends a retry with its own priority, which is lower.
func TestTransportBelowRetries(t *testing.T) {
	var got []string
	backend := roundTrip(func(r *http.Request) (*http.Response, error) {
		got = append(got, r.Header.Get("Baggage"))
		return &http.Response{StatusCode: http.StatusServiceUnavailable, Body: http.NoBody}, nil
	})
	client := throttle.Must(httpthrottle.NewTransport(priority.NewTransport(backend, everywhere), httpthrottle.TransportConfig{
		Throttle: throttle.Config{Name: "orders"},
		Retry:    &retry.Config{Attempts: 2, Delay: retry.Delay{Initial: time.Millisecond}},
	}))
	r, err := http.NewRequestWithContext(throttle.WithPriority(t.Context(), throttle.High), http.MethodGet, "http://orders", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	equal(t, "headers", fmt.Sprint(got), "[throttle.priority=high throttle.priority=important]")
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
