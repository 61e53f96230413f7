package httpthrottle_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/deixis/faults"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/httpthrottle"
	"github.com/spillway-go/spillway/throttle/throttletest"
)

const goldenBody = `{"title":"Service Unavailable","status":503,"detail":"The server has no capacity for this request. Try again after the delay in Retry-After."}` + "\n"

func TestShedResponse(t *testing.T) {
	rec := throttletest.NewRecorder()
	th := shedding(t, throttle.Config{Hooks: rec.Hooks()})
	rec.Reset()
	for method, body := range map[string]string{"GET": goldenBody, "POST": goldenBody, "HEAD": ""} {
		w := served(th, httpthrottle.MiddlewareConfig{}, httptest.NewRequest(method, "/", strings.NewReader("text")), never(t))
		got := fmt.Sprint(w.Code, w.Header(), w.Body)
		equal(t, method, got, "503 map[Cache-Control:[no-store] Content-Length:[143] Content-Type:[application/problem+json] Retry-After:[1]] "+body)
	}
	equal(t, "length of the body", len(goldenBody), 143)
	equal(t, "sheds reported", len(rec.Shed()), 3)
	equal(t, "events reported", len(rec.Events()), 3)
}

func TestRetryAfterOfTheMiddleware(t *testing.T) {
	th := shedding(t, throttle.Config{})
	for d, want := range map[time.Duration][2]int{
		0: {1, 1}, -1: {1, 1}, time.Nanosecond: {1, 1}, time.Second: {1, 1}, time.Second + 1: {2, 3}, 10 * time.Second: {10, 15}, 1 << 62: {3600, 5400},
	} {
		lowest, highest := math.MaxInt, 0
		for range 300 {
			w := served(th, httpthrottle.MiddlewareConfig{RetryAfter: d}, incoming(t.Context()), never(t))
			got, err := strconv.Atoi(w.Header().Get("Retry-After"))
			equal(t, "error", err, nil)
			lowest, highest = min(lowest, got), max(highest, got)
		}
		if d > time.Minute && lowest >= want[0] && highest <= want[1] && lowest < highest {
			continue // 300 draws do not show both ends of 1800
		}
		equal(t, d.String(), [2]int{lowest, highest}, want)
	}
}

func TestProblem(t *testing.T) {
	c := httpthrottle.MiddlewareConfig{Problem: func(w http.ResponseWriter, r *http.Request, err error) {
		w.WriteHeader(http.StatusTooManyRequests)
		fmt.Fprint(w, r.URL.Path, w.Header(), errors.Is(err, throttle.ErrShed))
	}}
	w := served(shedding(t, throttle.Config{}), c, incoming(t.Context()), never(t))
	equal(t, "answer", fmt.Sprintf("%d %s", w.Code, w.Body), "429 /map[Cache-Control:[no-store] Retry-After:[1]] true")
}

func TestProblem_NotShed(t *testing.T) {
	over, cancel := context.WithCancel(t.Context())
	cancel()
	picky := throttle.Config{InvalidPriority: throttle.RejectPriority}
	const mistake = `{"title":"Internal Server Error","status":500,"detail":"The server could not process this request because of an internal error."}` + "\n"
	for name, c := range map[string]struct {
		th    *throttle.Throttle
		ctx   context.Context
		want  string
		retry string
	}{
		"context over":   {newThrottle(t, throttle.Config{}), over, "503" + goldenBody, "1"},
		"zero throttle":  {&throttle.Throttle{}, t.Context(), "500" + mistake, ""},
		"wrong priority": {newThrottle(t, picky), throttle.WithPriority(t.Context(), 99), "500" + mistake, ""},
	} {
		w := served(c.th, httpthrottle.MiddlewareConfig{}, incoming(c.ctx), never(t))
		equal(t, name, fmt.Sprint(w.Code)+w.Body.String(), c.want)
		equal(t, name+": Retry-After", w.Header().Get("Retry-After"), c.retry)
		equal(t, name+": Cache-Control", w.Header().Get("Cache-Control"), "no-store")
		if name != "zero throttle" {
			equal(t, name+": books", books(c.th), "")
		}
	}
}

func TestWriteError(t *testing.T) {
	for name, c := range map[string]struct {
		err   error
		retry string // empty: not ours
	}{
		"nil":               {nil, ""},
		"plain":             {errPlain, ""},
		"not found":         {faults.NotFound, ""},
		"text and an end":   {fmt.Errorf("reading JSON: %w", io.EOF), ""},
		"no such file":      {&fs.PathError{Op: "open", Path: "a", Err: syscall.ENOENT}, ""},
		"canceled":          {&url.Error{Op: "Get", Err: context.Canceled}, ""},
		"unknown scheme":    {&url.Error{Op: "Get", Err: errors.New("unsupported protocol scheme")}, ""},
		"404 of a response": {httpthrottle.StatusCodeError(404), ""},
		"quota":             {faults.ResourceExhausted(), "1"},
		"timeout":           {context.DeadlineExceeded, "1"},
		"timeout, of a net": {&url.Error{Op: "Get", Err: os.ErrDeadlineExceeded}, "1"},
		"refused":           {&url.Error{Op: "Get", Err: &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}}, "1"},
		"no such host":      {&net.DNSError{Err: "no such host", IsNotFound: true}, "1"},
		"broken":            {&url.Error{Op: "Get", Err: io.ErrUnexpectedEOF}, "1"},
		"closed":            {&url.Error{Op: "Get", Err: io.EOF}, "1"},
		"marked":            {throttle.MarkRejected(errPlain), "1"},
		"429":               {httpthrottle.StatusCodeError(429), "1"},
		"429, delay":        {httpthrottle.StatusError(&http.Response{StatusCode: 429, Header: http.Header{"Retry-After": {"7"}}}), "7"},
		"504":               {httpthrottle.StatusCodeError(504), "1"},
		"nil fault":         {(*faults.AvailabilityFailure)(nil), "1"},
		"shed":              {throttle.ErrShed, "1"},
		"shed, as it comes": {fmt.Errorf("calling: %w", &throttle.ShedError{Throttle: "orders-db"}), "1"},
		"ErrShed by its Is": {refusal{time.Minute}, "60"},
		"unavailable":       {faults.Unavailable(0), "1"},
		"rounded up":        {faults.Unavailable(time.Second + 1), "2"},
		"of a response":     {httpthrottle.StatusError(&http.Response{StatusCode: 503, Header: http.Header{"Retry-After": {"7"}}}), "7"},
	} {
		w := httptest.NewRecorder()
		w.Header().Set("Etag", "1")
		w.Header().Set("Content-Length", "7")
		w.Header().Set("Content-Encoding", "gzip")
		w.Header().Set("Last-Modified", "now")
		w.Header().Set("Other", "kept")
		ours := httpthrottle.WriteError(w, incoming(t.Context()), c.err)
		equal(t, name+": ours", ours, c.retry != "")
		equal(t, name+": Retry-After", w.Header().Get("Retry-After"), c.retry)
		equal(t, name+": Other", w.Header().Get("Other"), "kept")
		if ours {
			th := newThrottle(t, throttle.Config{})
			served(th, httpthrottle.MiddlewareConfig{}, incoming(t.Context()), func(w http.ResponseWriter, r *http.Request) {
				httpthrottle.WriteError(w, r, c.err)
			})
			equal(t, name+": ignored", strings.HasPrefix(books(th), "1 medium ignored/"), true)
			equal(t, name, fmt.Sprint(w.Code)+w.Body.String(), "503"+goldenBody)
			equal(t, name+": header", fmt.Sprintf("%d %s", len(w.Header()), w.Header().Get("Content-Length")), fmt.Sprintf("5 %d", len(goldenBody)))
		} else {
			equal(t, name+": untouched", fmt.Sprint(w.Header().Get("Etag"), w.Body.Len()), "10")
		}
	}
}
