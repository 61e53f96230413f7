package httpthrottle_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/deixis/faults"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/httpthrottle"
)

// What a shed caller gets, to the byte, from a real server.
const golden = "HTTP/1.1 503 Service Unavailable\r\n" +
	"Content-Length: 125\r\n" +
	"Cache-Control: no-store\r\n" +
	"Content-Type: application/problem+json\r\n" +
	"Retry-After: 1\r\n" +
	"\r\n"

const goldenBody = `{"title":"Service Unavailable","status":503,"detail":"The server is short of capacity. Retry-After says when to try again."}` + "\n"

func TestShedResponse(t *testing.T) {
	th := shedding(t, throttle.Config{})
	for _, http2 := range []bool{false, true} {
		server := httptest.NewUnstartedServer(httpthrottle.Middleware(th, httpthrottle.MiddlewareConfig{})(never(t)))
		server.EnableHTTP2 = http2
		server.StartTLS()
		for method, body := range map[string]string{"GET": goldenBody, "POST": goldenBody, "HEAD": ""} {
			r, _ := http.NewRequestWithContext(t.Context(), method, server.URL, strings.NewReader("text"))
			response, err := server.Client().Do(r)
			if err != nil {
				t.Fatal(err)
			}
			text, _ := io.ReadAll(response.Body)
			_ = response.Body.Close()
			response.Header.Del("Date")
			var got strings.Builder
			fmt.Fprintf(&got, "HTTP/1.1 %s\r\nContent-Length: %d\r\n", response.Status, response.ContentLength)
			response.Header.Del("Content-Length")
			_ = response.Header.Write(&got)
			equal(t, method, got.String()+"\r\n"+string(text), golden+body)
		}
		server.Close()
	}
	equal(t, "length of the golden body", fmt.Sprintf("Content-Length: %d", len(goldenBody)), strings.Split(golden, "\r\n")[1])
}

func TestShedRequestsAreTold(t *testing.T) {
	w := &witness{}
	th := shedding(t, throttle.Config{Hooks: w.hooks()})
	w.moments = nil
	served(th, httpthrottle.MiddlewareConfig{}, incoming(t.Context()), never(t))
	w.want(t, "shed")
}

func TestRetryAfterOfTheMiddleware(t *testing.T) {
	th := shedding(t, throttle.Config{})
	for d, want := range map[time.Duration][2]string{
		0: {"1", "1"}, -1: {"1", "1"}, time.Nanosecond: {"1", "1"}, time.Second: {"1", "1"}, time.Second + 1: {"2", "3"},
		10 * time.Second: {"10", "15"}, 1 << 62: {"3600", "5400"},
	} {
		lowest, highest := "", ""
		for range 5000 {
			w := served(th, httpthrottle.MiddlewareConfig{RetryAfter: d}, incoming(t.Context()), never(t))
			got := w.Header().Get("Retry-After")
			if lowest == "" || len(got) < len(lowest) || len(got) == len(lowest) && got < lowest {
				lowest = got
			}
			if len(got) > len(highest) || len(got) == len(highest) && got > highest {
				highest = got
			}
			if d > time.Minute && got >= want[0] && got <= want[1] {
				lowest, highest = want[0], want[1] // too many to see them all
			}
		}
		equal(t, d.String(), [2]string{lowest, highest}, want)
	}
}

func TestProblem(t *testing.T) {
	var got error
	c := httpthrottle.MiddlewareConfig{RetryAfter: time.Second, Problem: func(w http.ResponseWriter, r *http.Request, err error) {
		got = err
		equal(t, "Retry-After", w.Header().Get("Retry-After"), "1")
		equal(t, "Cache-Control", w.Header().Get("Cache-Control"), "no-store")
		w.WriteHeader(http.StatusTooManyRequests)
		_, _ = io.WriteString(w, r.URL.Path)
	}}
	w := served(shedding(t, throttle.Config{}), c, incoming(t.Context()), never(t))
	equal(t, "error is ErrShed", errors.Is(got, throttle.ErrShed), true)
	equal(t, "answer", fmt.Sprintf("%d %s", w.Code, w.Body), "429 /")
}

// Requests that are neither shed nor served.
func TestRequestsThatAreRefused(t *testing.T) {
	over, cancel := context.WithCancel(t.Context())
	cancel()
	picky := throttle.Config{InvalidPriority: throttle.RejectPriority}
	const mistake = `{"title":"Internal Server Error","status":500,"detail":"The server could not decide about this request."}` + "\n"
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
		"nil":                {nil, ""},
		"plain":              {errPlain, ""},
		"not found":          {faults.NotFound, ""},
		"quota":              {faults.ResourceExhausted(), ""},
		"timeout":            {context.DeadlineExceeded, ""},
		"nil fault":          {(*faults.AvailabilityFailure)(nil), "1"},
		"shed":               {throttle.ErrShed, "1"},
		"shed, as it comes":  {fmt.Errorf("calling: %w", &throttle.ShedError{Throttle: "orders-db"}), "1"},
		"ErrShed by its Is":  {refusal{time.Minute}, "60"},
		"for very long":      {refusal{1 << 62}, "3600"},
		"the same, joined":   {errors.Join(errPlain, fmt.Errorf("calling: %w", refusal{})), "1"},
		"unavailable":        {faults.Unavailable(0), "1"},
		"unavailable, delay": {fmt.Errorf("calling: %w", faults.Unavailable(90*time.Second)), "90"},
		"rounded up":         {faults.Unavailable(time.Second + 1), "2"},
		"negative":           {faults.Unavailable(-time.Hour), "1"},
		"huge":               {faults.Unavailable(1 << 62), "3600"},
		"of a response":      {httpthrottle.StatusError(&http.Response{StatusCode: 503, Header: http.Header{"Retry-After": {"7"}}}), "7"},
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
			equal(t, name, fmt.Sprint(w.Code)+w.Body.String(), "503"+goldenBody)
			equal(t, name+": header", fmt.Sprintf("%d %s", len(w.Header()), w.Header().Get("Content-Length")), fmt.Sprintf("5 %d", len(goldenBody)))
		} else {
			equal(t, name+": untouched", fmt.Sprint(w.Header().Get("Etag"), w.Body.Len()), "10")
		}
	}
}

// The server's own throttle is not told that it was short of something, for it was a friend; the caller's is.
func TestNestedThrottles(t *testing.T) {
	friend := shedding(t, throttle.Config{Name: "friend"})
	own := newThrottle(t, throttle.Config{Name: "own"})
	server := httptest.NewUnstartedServer(httpthrottle.Middleware(own, httpthrottle.MiddlewareConfig{Default: throttle.Low})(
		http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if err := friend.Do(r.Context(), throttle.High, func(context.Context) error { return nil }); !httpthrottle.WriteError(w, r, err) {
				t.Errorf("got %v want a shed", err)
			}
		})))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.Start()
	transport := newTransport(t, nil, httpthrottle.TransportConfig{})
	response, err := (&http.Client{Transport: transport}).Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	server.Close()
	equal(t, "friend has shed at the server's priority", friend.Stats().Priorities[throttle.Low].Shed.Sum() > 0, true)
	equal(t, "status", response.StatusCode, 503)
	equal(t, "Retry-After", response.Header.Get("Retry-After"), "1")
	equal(t, "own", books(own), "1 low ignored/shed")
	equal(t, "caller's", books(throttleOf(t, transport, server.Listener.Addr().String())), "1 medium rejected/availability")
}
