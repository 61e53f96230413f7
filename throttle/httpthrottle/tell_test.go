package httpthrottle_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/deixis/faults"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/httpthrottle"
)

// tell tells a middleware what an answer means, as a handler does that knows nothing of this package.
func tell(w http.ResponseWriter, err error) bool {
	for {
		if t, ok := w.(interface{ Tell(error) }); ok {
			t.Tell(err)
			return true
		}
		u, ok := w.(interface{ Unwrap() http.ResponseWriter })
		if !ok {
			return false
		}
		w = u.Unwrap()
	}
}

// refusal is somebody else's error for a call that was not made: a bucket's, say, or a breaker's.
type refusal struct{ after time.Duration }

func (refusal) Error() string               { return "not now" }
func (refusal) Is(target error) bool        { return target == throttle.ErrShed }
func (r refusal) RetryAfter() time.Duration { return r.after }

func TestHandlersTellWhatTheirAnswerMeans(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	for name, c := range map[string]struct {
		ctx     context.Context
		handler http.HandlerFunc
		want    string
		status  int
	}{
		"429 of a bucket": {t.Context(), func(w http.ResponseWriter, _ *http.Request) {
			tell(w, refusal{})
			w.WriteHeader(http.StatusTooManyRequests)
		}, "1 high ignored/shed", 429},
		"429 to one caller": {t.Context(), func(w http.ResponseWriter, _ *http.Request) {
			tell(w, nil)
			w.WriteHeader(http.StatusTooManyRequests)
		}, "1 high accepted/none", 429},
		"200 from a cache, for want of a backend": {t.Context(), func(w http.ResponseWriter, _ *http.Request) {
			tell(w, faults.Unavailable(0))
			_, _ = io.WriteString(w, "stale")
		}, "1 high rejected/availability", 200},
		"a status that is left to the server": {t.Context(), func(w http.ResponseWriter, _ *http.Request) {
			tell(w, faults.NotFound)
		}, "1 high accepted/missing", 200},
		"the first is believed": {t.Context(), func(w http.ResponseWriter, _ *http.Request) {
			tell(w, refusal{})
			tell(w, faults.Unavailable(0))
			w.WriteHeader(http.StatusServiceUnavailable)
		}, "1 high ignored/shed", 503},
		"after the header it is too late": {t.Context(), func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusTooManyRequests)
			tell(w, refusal{})
		}, "1 high rejected/quota", 429},
		"after 1xx it is not": {t.Context(), func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusEarlyHints)
			tell(w, refusal{})
			w.WriteHeader(http.StatusTooManyRequests)
		}, "1 high ignored/shed", 103}, // as the recorder has it
		"a client that has gone away": {ctx, func(w http.ResponseWriter, _ *http.Request) {
			cancel()
			tell(w, faults.Unavailable(0))
		}, "1 high ignored/canceled", 200},
		"a copy": {t.Context(), func(w http.ResponseWriter, _ *http.Request) {
			tell(w, refusal{})
			_, _ = io.Copy(w, io.LimitReader(neverEnding('x'), 10))
		}, "1 high ignored/shed", 200},
		"what WriteError says later": {t.Context(), func(w http.ResponseWriter, r *http.Request) {
			tell(w, refusal{})
			equal(t, "WriteError writes", httpthrottle.WriteError(w, r, faults.Unavailable(0)), true)
		}, "1 high ignored/shed", 503},
		"wrapped by others": {t.Context(), func(w http.ResponseWriter, _ *http.Request) {
			tell(wrapped{wrapped{w}}, refusal{})
			w.WriteHeader(http.StatusTooManyRequests)
		}, "1 high ignored/shed", 429},
		"wrapped by somebody who hides it": {t.Context(), func(w http.ResponseWriter, _ *http.Request) {
			equal(t, "is told", tell(struct{ http.ResponseWriter }{w}, refusal{}), false)
			w.WriteHeader(http.StatusTooManyRequests)
		}, "1 high rejected/quota", 429},
	} {
		t.Run(name, func(t *testing.T) {
			th := newThrottle(t, throttle.Config{})
			w := served(th, httpthrottle.MiddlewareConfig{}, incoming(c.ctx), c.handler)
			equal(t, "books", books(th), c.want)
			equal(t, "status", w.Code, c.status)
		})
	}
}

// neverEnding is a body without an end.
type neverEnding byte

func (b neverEnding) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(b)
	}
	return len(p), nil
}

// TestTheUsersClassifierIsAsked about what a handler tells, too.
func TestTheUsersClassifierIsAsked(t *testing.T) {
	th := newThrottle(t, throttle.Config{Classify: throttle.RejectIf(func(err error) bool { return errors.Is(err, errPlain) })})
	served(th, httpthrottle.MiddlewareConfig{}, incoming(t.Context()), func(w http.ResponseWriter, _ *http.Request) { tell(w, errPlain) })
	equal(t, "books", books(th), "1 high rejected/other")
}

// TestAGreedyCallerCostsNobodyElse: a limiter within the middleware answers 429 to one caller of many, and the others are served.
func TestAGreedyCallerCostsNobodyElse(t *testing.T) {
	limit := func(told bool) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Caller") != "greedy" {
				return
			}
			if told {
				tell(w, refusal{})
			}
			w.WriteHeader(http.StatusTooManyRequests)
		}
	}
	for told, want := range map[bool]int{true: 40, false: 0} {
		th := newThrottle(t, throttle.Config{Rand: unlucky}) // sheds whatever may be shed
		request := func(caller string) int {
			r := incoming(t.Context())
			r.Header.Set("Caller", caller)
			return served(th, httpthrottle.MiddlewareConfig{}, r, limit(told)).Code
		}
		for range 1000 {
			request("greedy")
		}
		ok := 0
		for caller := range 40 {
			if request(fmt.Sprint(caller)) == http.StatusOK {
				ok++
			}
		}
		equal(t, fmt.Sprintf("callers served if the throttle is told %v", told), ok, want)
	}
}

// TestMiddlewaresInEachOther: what a handler tells, and what the inner one sheds, is no lack of capacity for the outer one. A status is.
func TestMiddlewaresInEachOther(t *testing.T) {
	for name, c := range map[string]struct {
		inner        *throttle.Throttle
		handler      http.HandlerFunc
		outer, means string // empty: does not matter
	}{
		"told": {newThrottle(t, throttle.Config{}), func(w http.ResponseWriter, _ *http.Request) {
			tell(w, refusal{})
			w.WriteHeader(http.StatusTooManyRequests)
		}, "1 high ignored/shed", "1 high ignored/shed"},
		"WriteError": {newThrottle(t, throttle.Config{}), func(w http.ResponseWriter, r *http.Request) {
			httpthrottle.WriteError(w, r, throttle.ErrShed)
		}, "1 high ignored/shed", "1 high ignored/shed"},
		"503": {newThrottle(t, throttle.Config{}), func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusServiceUnavailable)
		}, "1 high rejected/availability", "1 high rejected/availability"},
		"shed":      {shedding(t, throttle.Config{}), never(t), "1 high ignored/shed", ""},
		"a mistake": {&throttle.Throttle{}, never(t), "1 high accepted/other", ""},
	} {
		outer := newThrottle(t, throttle.Config{Name: "outer"})
		inner := httpthrottle.Middleware(c.inner, httpthrottle.MiddlewareConfig{})(c.handler)
		served(outer, httpthrottle.MiddlewareConfig{}, incoming(t.Context()), func(w http.ResponseWriter, r *http.Request) {
			inner.ServeHTTP(wrapped{w}, r)
		})
		equal(t, name+": outer", books(outer), c.outer)
		if c.means != "" {
			equal(t, name+": inner", books(c.inner), c.means)
		}
	}
}

// holding is a writer of somebody who sends nothing before the handler returns.
type holding struct {
	wrapped
	statuses *[]int
}

func (h holding) WriteHeader(status int)      { *h.statuses = append(*h.statuses, status) }
func (h holding) Write(p []byte) (int, error) { return len(p), nil }

func TestWriteErrorAnswersOnce(t *testing.T) {
	th := newThrottle(t, throttle.Config{})
	var statuses []int
	served(th, httpthrottle.MiddlewareConfig{}, incoming(t.Context()), func(w http.ResponseWriter, r *http.Request) {
		w = holding{wrapped{w}, &statuses}
		equal(t, "ours", httpthrottle.WriteError(w, r, throttle.ErrShed), true)
		equal(t, "ours, too late", httpthrottle.WriteError(w, r, faults.Unavailable(0)), true)
	})
	equal(t, "statuses", fmt.Sprint(statuses), "[503]")
	equal(t, "books", books(th), "1 high ignored/shed")
}
