package httpthrottle_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"testing"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/httpthrottle"
)

// sent returns the PriorityHeader that a transport sends for a request with header values.
func sent(t *testing.T, ctx context.Context, c httpthrottle.TransportConfig, values ...string) (said []string, th *throttle.Throttle) {
	t.Helper()
	asked := 0
	if send := c.Send; send != nil {
		c.Send = func(r *http.Request) bool { asked++; return send(r) }
	}
	transport := newTransport(t, roundTrip(func(r *http.Request) (*http.Response, error) {
		said = r.Header[httpthrottle.PriorityHeader]
		equal(t, "other header", r.Header.Get("Other"), "kept")
		return answers(200, "")(r)
	}), c)
	r := get(ctx)
	r.Header.Set("Other", "kept")
	if values != nil {
		r.Header[httpthrottle.PriorityHeader] = values
	}
	before := r.Header.Clone()
	read(t, transport, r)
	if !maps.EqualFunc(r.Header, before, slices.Equal) {
		t.Errorf("caller's header: got %q want %q", r.Header, before)
	}
	equal(t, "questions to Send", asked, min(asked, 1))
	return said, throttleOf(t, transport, host)
}

func TestPriority_Outgoing(t *testing.T) {
	low := func(*http.Request) throttle.Priority { return throttle.Low }
	everywhere := func(*http.Request) bool { return true }
	nowhere := func(*http.Request) bool { return false }
	plain := context.Background()
	in := func(p throttle.Priority) context.Context { return throttle.WithPriority(plain, p) }
	for name, c := range map[string]struct {
		ctx    context.Context
		c      httpthrottle.TransportConfig
		values []string
		books  string
		said   string
	}{
		"default":                {plain, httpthrottle.TransportConfig{Send: everywhere}, nil, "medium", "[]"},
		"function":               {plain, httpthrottle.TransportConfig{Send: everywhere, Priority: low}, nil, "low", "[low]"},
		"context":                {in(throttle.Important), httpthrottle.TransportConfig{Send: everywhere, Priority: low}, nil, "important", "[important]"},
		"never sent":             {in(throttle.High), httpthrottle.TransportConfig{}, nil, "high", "[]"},
		"not to this host":       {in(throttle.High), httpthrottle.TransportConfig{Send: nowhere}, nil, "high", "[]"},
		"header, never sent":     {plain, httpthrottle.TransportConfig{}, []string{"high"}, "medium", "[]"},
		"header is replaced":     {in(throttle.Low), httpthrottle.TransportConfig{Send: everywhere}, []string{"high"}, "low", "[low]"},
		"header says so already": {in(throttle.Low), httpthrottle.TransportConfig{Send: everywhere}, []string{"low"}, "low", "[low]"},
		"header says so twice":   {in(throttle.Low), httpthrottle.TransportConfig{Send: everywhere}, []string{"low", "low"}, "low", "[low]"},
		"header is empty":        {in(throttle.Low), httpthrottle.TransportConfig{Send: nowhere}, []string{}, "low", "[]"},
		"out of range":           {in(99), httpthrottle.TransportConfig{Send: everywhere}, nil, "low", "[low]"},
		"many priorities":        {in(5), httpthrottle.TransportConfig{Send: everywhere, Throttle: throttle.Config{Priorities: 6}}, nil, "p5", "[p5]"},
		"few priorities":         {in(5), httpthrottle.TransportConfig{Send: everywhere, Throttle: throttle.Config{Priorities: 2}}, nil, "important", "[important]"},
	} {
		t.Run(name, func(t *testing.T) {
			said, th := sent(t, c.ctx, c.c, c.values...)
			equal(t, "said", fmt.Sprint(said), c.said)
			equal(t, "books", books(th), "1 "+c.books+" accepted/none")
		})
	}
}

// If nothing has to change, the transport sends the caller's own request.
func TestPriority_RequestUnchanged(t *testing.T) {
	for name, send := range map[string]func(*http.Request) bool{"never": nil, "said already": func(*http.Request) bool { return true }} {
		r := get(throttle.WithPriority(t.Context(), throttle.Medium))
		if send != nil {
			r.Header[httpthrottle.PriorityHeader] = []string{"medium"}
		}
		transport := newTransport(t, roundTrip(func(sent *http.Request) (*http.Response, error) {
			equal(t, name+": is the caller's", sent, r)
			return answers(200, "")(sent)
		}), httpthrottle.TransportConfig{Send: send})
		read(t, transport, r)
	}
}

func TestPriority_NilHeader(t *testing.T) {
	transport := newTransport(t, roundTrip(func(r *http.Request) (*http.Response, error) {
		equal(t, "header is nil", r.Header == nil, true)
		return answers(200, "")(r)
	}), httpthrottle.TransportConfig{Send: func(*http.Request) bool { return true }})
	r := get(t.Context())
	r.Header = nil
	read(t, transport, r)
}
