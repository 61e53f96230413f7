package httpthrottle_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/httpthrottle"
)

// What a handler gets of the priority that a sender names. Package protocol has the rules of Trust.
func TestPriority_Incoming(t *testing.T) {
	trusts := httpthrottle.PeerFunc(func(r *http.Request) bool { return r.URL.Path == "/" })
	medium := func(*http.Request) throttle.Priority { return throttle.Medium }
	important := throttle.WithPriority(t.Context(), throttle.Important)
	asking := httpthrottle.MiddlewareConfig{Trust: throttle.Trust{Peer: trusts, Ceiling: throttle.Important, Default: throttle.Low}, Priority: medium}
	wary := httpthrottle.MiddlewareConfig{Trust: throttle.Trust{Peer: httpthrottle.PeerFunc(nil), Default: throttle.Low}}
	for name, c := range map[string]struct {
		ctx    context.Context
		c      httpthrottle.MiddlewareConfig
		values []string
		want   throttle.Priority
		onward string
	}{
		"silent":            {t.Context(), wary, nil, throttle.Low, "[]"},
		"silent, function":  {t.Context(), asking, nil, throttle.Medium, "[]"},
		"trusted":           {t.Context(), asking, []string{"low"}, throttle.Low, "[low]"},
		"trusted, too high": {t.Context(), asking, []string{"high"}, throttle.Important, "[important]"},
		"trusted, repeated": {t.Context(), asking, []string{"important", "important"}, throttle.Medium, "[]"},
		"untrusted":         {t.Context(), wary, []string{"high"}, throttle.Low, "[]"},
		"context, trusted":  {important, asking, []string{"low"}, throttle.Important, "[low]"},
	} {
		r := incoming(c.ctx)
		r.Header.Set("Other", "kept")
		r.Header[httpthrottle.PriorityHeader] = c.values
		c.c.Tenant = func(r *http.Request) string { return "of " + r.URL.Path }
		th := newThrottle(t, throttle.Config{})
		served(th, c.c, r, func(_ http.ResponseWriter, r *http.Request) {
			equal(t, name+": in the context", throttle.PriorityFromContext(r.Context(), 100), c.want)
			equal(t, name+": onward", fmt.Sprint(r.Header[httpthrottle.PriorityHeader]), c.onward)
			equal(t, name+": other header", r.Header.Get("Other"), "kept")
			equal(t, name+": tenant", throttle.TenantFromContext(r.Context()), "of /")
		})
		equal(t, name, books(th), "1 "+c.want.String()+" accepted/none")
		equal(t, name+": own header stays", len(r.Header[httpthrottle.PriorityHeader]), len(c.values))
	}
}

// What a transport sends of a priority. If nothing has to change, that is the caller's own request.
func TestPriority_Outgoing(t *testing.T) {
	low := func(*http.Request) throttle.Priority { return throttle.Low }
	everywhere := httpthrottle.TransportConfig{Send: func(*http.Request) bool { return true }}
	nowhere := httpthrottle.TransportConfig{Send: func(*http.Request) bool { return false }}
	choosing := everywhere
	choosing.Priority = low
	plain := t.Context()
	in := func(p throttle.Priority) context.Context { return throttle.WithPriority(plain, p) }
	header := func(name string, values ...string) http.Header { return http.Header{"Other": {"kept"}, name: values} }
	const ours = httpthrottle.PriorityHeader
	for name, c := range map[string]struct {
		ctx    context.Context
		c      httpthrottle.TransportConfig
		header http.Header
		books  string
		said   string // in any spelling of the header
		same   bool   // the request is the caller's
	}{
		"default":                {plain, everywhere, header("A"), "medium", "[]", true},
		"no header":              {plain, everywhere, nil, "medium", "[]", true},
		"no header, a priority":  {in(throttle.Low), everywhere, nil, "low", "[]", false},
		"function":               {plain, choosing, header("A"), "low", "[low]", false},
		"context":                {in(throttle.Important), choosing, header("A"), "important", "[important]", false},
		"never sent":             {in(throttle.High), httpthrottle.TransportConfig{}, header("A"), "high", "[]", true},
		"not to this host":       {in(throttle.High), nowhere, header("A"), "high", "[]", true},
		"header, never sent":     {plain, httpthrottle.TransportConfig{}, header(ours, "high"), "medium", "[]", false},
		"header is replaced":     {in(throttle.Low), everywhere, header(ours, "high"), "low", "[low]", false},
		"header says so already": {in(throttle.Low), everywhere, header(ours, "low"), "low", "[low]", true},
		"header says so twice":   {in(throttle.Low), everywhere, header(ours, "low", "low"), "low", "[low]", false},
		"header is empty":        {in(throttle.Low), nowhere, header(ours), "low", "[]", true},
		"spelling, never sent":   {in(throttle.Low), nowhere, header("throttle-priority", "high"), "low", "[]", false},
		"spelling, replaced":     {in(throttle.Low), everywhere, header("THROTTLE-PRIORITY", "high"), "low", "[low]", false},
		"out of range":           {in(99), everywhere, header("A"), "low", "[p15]", false},
	} {
		asked := 0
		if send := c.c.Send; send != nil {
			c.c.Send = func(r *http.Request) bool { asked++; return send(r) }
		}
		r := get(c.ctx)
		r.Header = c.header
		before := r.Header.Clone()
		transport := newTransport(t, roundTrip(func(sent *http.Request) (*http.Response, error) {
			said := []string{}
			for name, values := range sent.Header { // net/http sends names as they are
				if strings.EqualFold(name, ours) {
					said = append(said, values...)
				}
			}
			equal(t, name+": said", fmt.Sprint(said), c.said)
			equal(t, name+": is the caller's", sent == r, c.same)
			equal(t, name+": other header", sent.Header.Get("Other"), r.Header.Get("Other"))
			return answers(200, "")(sent)
		}), c.c)
		read(t, transport, r)
		equal(t, name, books(throttleOf(t, transport, host)), "1 "+c.books+" accepted/none")
		equal(t, name+": caller's header", fmt.Sprint(r.Header), fmt.Sprint(before))
		equal(t, name+": questions to Send", asked, min(asked, 1))
	}
}

// Send is called again after a redirect, here from our server to another company's.
func TestPriority_redirect(t *testing.T) {
	got := map[string]string{}
	transport := newTransport(t, roundTrip(func(r *http.Request) (*http.Response, error) {
		got[r.URL.Host] = fmt.Sprint(r.Header[httpthrottle.PriorityHeader])
		status := http.StatusOK
		if r.URL.Host == host {
			status = http.StatusTemporaryRedirect
		}
		response, err := answers(status, "")(r)
		response.Header.Set("Location", "http://other.example/")
		return response, err
	}), httpthrottle.TransportConfig{Send: func(r *http.Request) bool { return r.URL.Host == host }})
	r := get(throttle.WithPriority(t.Context(), throttle.High))
	r.Header.Set(httpthrottle.PriorityHeader, "important") // http.Client copies it
	response := throttle.Must((&http.Client{Transport: transport}).Do(r))
	_ = response.Body.Close()
	equal(t, "sent", fmt.Sprint(got), "map["+host+":[high] other.example:[]]")
}
