package httpthrottle_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/httpthrottle"
)

func TestPriority_Incoming(t *testing.T) {
	trusts := httpthrottle.PeerFunc(func(*http.Request) bool { return true })
	distrusts := func(context.Context) bool { return false }
	medium := func(*http.Request) throttle.Priority { return throttle.Medium }
	high := func(*http.Request) throttle.Priority { return throttle.High }
	plain, important := context.Background(), throttle.WithPriority(context.Background(), throttle.Important)
	trusting := httpthrottle.MiddlewareConfig{Trust: throttle.Trust{Peer: trusts, Ceiling: throttle.Important, Default: throttle.Low}}
	asking := httpthrottle.MiddlewareConfig{Trust: throttle.Trust{Peer: trusts, Ceiling: throttle.Important, Default: throttle.Low}, Priority: medium}
	wary := httpthrottle.MiddlewareConfig{Trust: throttle.Trust{Peer: distrusts, Default: throttle.Low}}
	for name, c := range map[string]struct {
		ctx    context.Context
		c      httpthrottle.MiddlewareConfig
		values []string
		want   throttle.Priority
		onward string
	}{
		"silent":                   {plain, trusting, nil, throttle.Low, "[]"},
		"silent, function":         {plain, asking, nil, throttle.Medium, "[]"},
		"trusted":                  {plain, asking, []string{"important"}, throttle.Important, "[important]"},
		"trusted, demotes":         {plain, asking, []string{"low"}, throttle.Low, "[low]"},
		"trusted, too high":        {plain, asking, []string{"high"}, throttle.Important, "[important]"},
		"trusted, beyond ours":     {plain, trusting, []string{"p15"}, throttle.Low, "[p15]"},
		"trusted, repeated":        {plain, trusting, []string{"important", "important"}, throttle.Low, "[]"},
		"trusted, joined":          {plain, trusting, []string{"important, important"}, throttle.Low, "[]"},
		"trusted, unknown":         {plain, asking, []string{"urgent"}, throttle.Medium, "[]"},
		"trusted, empty":           {plain, trusting, []string{""}, throttle.Low, "[]"},
		"trusted, a number":        {plain, trusting, []string{"0"}, throttle.Low, "[]"},
		"trusted, upper case":      {plain, trusting, []string{"HIGH"}, throttle.Low, "[]"},
		"trusted, spaced":          {plain, trusting, []string{" important"}, throttle.Low, "[]"},
		"untrusted":                {plain, wary, []string{"high"}, throttle.Low, "[]"},
		"no Peer":                  {plain, httpthrottle.MiddlewareConfig{Trust: throttle.Trust{Default: throttle.Low}}, []string{"high"}, throttle.Low, "[]"},
		"wrong Default, untrusted": {plain, httpthrottle.MiddlewareConfig{Trust: throttle.Trust{Peer: distrusts, Default: -1}}, []string{"high"}, throttle.Low, "[]"},
		"context":                  {important, asking, nil, throttle.Important, "[]"},
		"context, trusted":         {important, asking, []string{"low"}, throttle.Important, "[important]"},
		"context, untrusted":       {important, wary, []string{"high"}, throttle.Important, "[]"},
		"zero, high":               {plain, httpthrottle.MiddlewareConfig{}, []string{"high"}, throttle.Medium, "[]"},
		"high by Priority":         {plain, httpthrottle.MiddlewareConfig{Priority: high}, nil, throttle.High, "[]"},
	} {
		t.Run(name, func(t *testing.T) {
			asked := 0
			if peer := c.c.Trust.Peer; peer != nil {
				c.c.Trust.Peer = func(ctx context.Context) bool { asked++; return peer(ctx) }
			}
			r := incoming(c.ctx)
			r.Header.Set("Other", "kept")
			if c.values != nil {
				r.Header[httpthrottle.PriorityHeader] = c.values
			}
			th := newThrottle(t, throttle.Config{})
			served(th, c.c, r, func(_ http.ResponseWriter, r *http.Request) {
				equal(t, "in the context", min(throttle.PriorityFromContext(r.Context(), 100), throttle.Low), c.want)
				equal(t, "onward", fmt.Sprint(r.Header[httpthrottle.PriorityHeader]), c.onward)
				equal(t, "other header", r.Header.Get("Other"), "kept")
			})
			equal(t, "books", books(th), "1 "+c.want.String()+" accepted/none")
			equal(t, "own header stays", len(r.Header[httpthrottle.PriorityHeader]), len(c.values))
			equal(t, "Peer is asked at most once", asked, min(asked, 1))
		})
	}
}
