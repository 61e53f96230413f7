package httpthrottle_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/httpthrottle"
	"github.com/spillway-go/spillway/throttle/retry"
)

func often() *retry.Config {
	return &retry.Config{
		Budget: retry.Budget{Share: 1, Reserve: 1e6}, Delay: retry.Delay{Initial: time.Millisecond},
		Rand: func() float64 { return 0 },
	}
}

func retrying(t *testing.T, base http.RoundTripper, c httpthrottle.TransportConfig) *httpthrottle.Transport {
	t.Helper()
	if c.Retry == nil {
		c.Retry = often()
	}
	c.Throttle.Rand = lucky
	return newTransport(t, base, c)
}

func statsOf(t *testing.T, transport *httpthrottle.Transport) retry.Stats {
	t.Helper()
	all := slices.Collect(transport.Retriers().All())
	if len(all) != 1 {
		t.Fatalf("got %d Retriers want 1", len(all))
	}
	return all[0].Stats()
}

// backend is a base that answers with the statuses in order, and then with the last one.
type backend struct {
	statuses []int // 0 is a refused connection
	header   http.Header
	requests []*http.Request
	uploads  []string       // bodies of requests
	bodies   []*trackedBody // of responses
}

func (b *backend) RoundTrip(r *http.Request) (*http.Response, error) {
	b.requests = append(b.requests, r)
	if r.Body != nil {
		text, _ := io.ReadAll(r.Body)
		b.uploads = append(b.uploads, string(text))
		_ = r.Body.Close()
	}
	status := b.statuses[min(len(b.requests), len(b.statuses))-1]
	if status == 0 {
		return nil, errors.New("connection refused")
	}
	body := &trackedBody{Reader: strings.NewReader(fmt.Sprintf("answer %d", len(b.requests)))}
	b.bodies = append(b.bodies, body)
	return &http.Response{StatusCode: status, Header: b.header.Clone(), Body: body, Request: r, ContentLength: -1}, nil
}

func TestRetry_OfEachStatus(t *testing.T) {
	for status, want := range map[int]int{0: 3, 200: 1, 404: 1, 429: 3, 503: 3} {
		synctest.Test(t, func(t *testing.T) {
			base := &backend{statuses: []int{status}}
			transport := retrying(t, base, httpthrottle.TransportConfig{})
			r := get(t.Context())
			response, err := transport.RoundTrip(r)
			if s := statsOf(t, transport); len(base.requests) != want || (err != nil) != (status == 0) || s.Sent != uint64(want-1) || s.Calls[want] != 1 {
				t.Fatalf("%d: got %d attempts, error %v, %+v want %d", status, len(base.requests), err, s, want)
			}
			if status == 0 {
				return
			}
			text, err := io.ReadAll(response.Body)
			if string(text) != fmt.Sprintf("answer %d", want) || err != nil || response.Request != r || response.StatusCode != status {
				t.Errorf("%d: got %q, %v, request %v want the last answer, unchanged", status, text, err, response.Request)
			}
			_ = response.Body.Close()
			for i, b := range base.bodies {
				equal(t, fmt.Sprint(status, ": the body of response ", i+1, " is closed"), b.closed > 0, true)
			}
			equal(t, strconv.Itoa(status), strings.Contains(books(throttleOf(t, transport, host)), "in flight"), false)
		})
	}
}

func TestRetry_MarksAttemptsAndLowersTheirPriority(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		base := &backend{statuses: []int{503, 503, 200}, header: http.Header{"Retry-After": {"2"}}}
		transport := retrying(t, base, httpthrottle.TransportConfig{Send: func(*http.Request) bool { return true }})
		r := get(throttle.WithPriority(t.Context(), throttle.Important))
		r.Header.Set("X-Own", "1")
		r.Header.Set(httpthrottle.AttemptHeader, "2") // of the client of a proxy
		equal(t, "status", ask(t, transport, r).StatusCode, http.StatusOK)
		equal(t, "request of an only attempt", ask(t, transport, r).Request, r)
		for i, want := range []string{"[] important 1", "[2] medium 1", "[3] medium 1"} {
			h := base.requests[i].Header
			equal(t, "header", fmt.Sprintf("%v %s %s", h[httpthrottle.AttemptHeader], h.Get(httpthrottle.PriorityHeader), h.Get("X-Own")), want)
		}
		equal(t, "header of the caller", len(r.Header), 2)
		equal(t, "duration, with the delay of each response", time.Since(begun), 4*time.Second)
	})
}

// TestRetry_OfAnAnswerThatStalls checks that the next attempt does not wait for a body that never arrives.
func TestRetry_OfAnAnswerThatStalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		body, _ := io.Pipe()
		attempts := 0
		transport := retrying(t, roundTrip(func(r *http.Request) (*http.Response, error) {
			if attempts++; attempts > 1 {
				return answers(http.StatusOK, "text")(r)
			}
			return &http.Response{StatusCode: http.StatusServiceUnavailable, Body: body, ContentLength: 100, Request: r}, nil
		}), httpthrottle.TransportConfig{})
		begun := time.Now()
		equal(t, "the second answer", read(t, transport, get(t.Context())), "text")
		if waited := time.Since(begun); waited > 100*time.Millisecond {
			t.Errorf("waited %v for the body of the first answer", waited)
		}
	})
}

func TestRetry_KeepsTheResponseIfNoRetryIsSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, change := range map[string]func(*http.Request, context.CancelFunc){
			"cancelled while it waits": func(_ *http.Request, cancel context.CancelFunc) { time.AfterFunc(time.Second, cancel) },
			"the body cannot be read again": func(r *http.Request, _ context.CancelFunc) {
				r.GetBody = func() (io.ReadCloser, error) { return nil, errors.New("gone") }
			},
		} {
			ctx, cancel := context.WithCancel(t.Context())
			base := &backend{statuses: []int{503}, header: http.Header{"Retry-After": {"5"}}}
			transport := retrying(t, base, httpthrottle.TransportConfig{})
			r := request(t.Context(), http.MethodPut, strings.NewReader("text")).WithContext(ctx)
			change(r, cancel)
			response, err := transport.RoundTrip(r)
			if err != nil || len(base.requests) != 1 {
				t.Fatalf("%s: got %v, %d attempts want the response of the first", name, err, len(base.requests))
			}
			if text, err := io.ReadAll(response.Body); string(text) != "answer 1" || err != nil {
				t.Errorf("%s: got %q, %v want the whole answer", name, text, err)
			}
			_ = response.Body.Close()
			if s := statsOf(t, transport); s.Sent != 0 || s.Denied.Sum() != 1 || s.Calls[1] != 1 {
				t.Errorf("%s: got %+v", name, s)
			}
			cancel()
		}
	})
}

// TestRetry_DoesNotWaitForAStream: a rejected response whose end is not known is closed, not read.
func TestRetry_DoesNotWaitForAStream(t *testing.T) {
	calls := 0
	transport := retrying(t, roundTrip(func(r *http.Request) (*http.Response, error) {
		if calls++; calls > 1 {
			return answers(200, "text")(r)
		}
		response, err := answers(503, "")(r)
		response.ContentLength, response.Body = -1, io.NopCloser(unread{t})
		return response, err
	}), httpthrottle.TransportConfig{})
	equal(t, "body", read(t, transport, get(t.Context())), "text")
}

type unread struct{ t *testing.T }

func (u unread) Read([]byte) (int, error) {
	u.t.Error("the body of a rejected stream was read")
	return 0, io.EOF
}

// A server counts the retries that senders mark, here by the default hooks. Package protocol decides about
// their priority.
func TestRetry_Middleware(t *testing.T) {
	t.Cleanup(func() { retry.SetDefaultHooks(retry.Hooks{}) })
	trusted := throttle.Trust{Peer: func(context.Context) bool { return true }}
	for name, tt := range map[string]struct {
		trust    throttle.Trust
		attempt  []string
		priority string
		number   int
		want     throttle.Priority
	}{
		"lowered":   {trusted, []string{"2"}, "", 2, throttle.Low},
		"trusted":   {trusted, []string{"2"}, "high", 2, throttle.High},
		"untrusted": {throttle.Trust{}, []string{"2"}, "high", 2, throttle.Low},
		"twice":     {trusted, []string{"2", "3"}, "", 1, throttle.Medium},
	} {
		arrived := 0
		retry.SetDefaultHooks(retry.Hooks{Arrived: func(context.Context, retry.ArrivalEvent) { arrived++ }})
		config := httpthrottle.MiddlewareConfig{LowerRetries: true, Trust: tt.trust}
		r := incoming(t.Context())
		r.Header[httpthrottle.AttemptHeader] = tt.attempt
		if tt.priority != "" {
			r.Header.Set(httpthrottle.PriorityHeader, tt.priority)
		}
		th := newThrottle(t, throttle.Config{})
		served(th, config, r, func(_ http.ResponseWriter, r *http.Request) {
			equal(t, name+": attempt", retry.FromContext(r.Context()).Number, tt.number)
			equal(t, name+": priority", throttle.PriorityFromContext(r.Context(), 100), tt.want)
		})
		equal(t, name, books(th), "1 "+tt.want.String()+" accepted/none")
		equal(t, name+": arrivals", arrived == 1, tt.number > 1)
	}
}

func TestRetry_Repeatable(t *testing.T) {
	keyed := http.Header{"Idempotency-Key": {"1"}}
	all := func(*http.Request) bool { return true }
	for _, tt := range []struct {
		method     string
		header     http.Header
		repeatable func(*http.Request) bool
		body       io.Reader
		trailer    http.Header
		want       int
	}{
		{method: http.MethodGet, want: 2},
		{method: "", want: 2},
		{method: http.MethodHead, want: 2},
		{method: http.MethodPut, body: strings.NewReader("text"), want: 2},
		{method: http.MethodDelete, want: 2},
		{method: http.MethodPost, want: 1},
		{method: http.MethodPatch, want: 1},
		{method: "PROPFIND", want: 1},
		{method: http.MethodPost, header: keyed, body: bytes.NewBufferString("text"), want: 2},
		{method: http.MethodPost, header: http.Header{"X-Idempotency-Key": {"1"}}, want: 2},
		{method: http.MethodPost, repeatable: all, body: bytes.NewReader([]byte("text")), want: 2},
		{method: http.MethodPut, repeatable: func(*http.Request) bool { return false }, want: 1},
		{method: http.MethodPut, repeatable: all, body: io.MultiReader(strings.NewReader("text")), want: 1}, // no GetBody
		{method: http.MethodPut, body: strings.NewReader("text"), trailer: http.Header{"Sum": nil}, want: 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			base := &backend{statuses: []int{503, 200}}
			transport := retrying(t, base, httpthrottle.TransportConfig{Repeatable: tt.repeatable})
			r := request(t.Context(), tt.method, tt.body)
			r.Method, r.Trailer = tt.method, tt.trailer
			for name, values := range tt.header {
				r.Header[name] = values
			}
			response, err := transport.RoundTrip(r)
			if err != nil || len(base.requests) != tt.want {
				t.Errorf("%+v: got %d attempts, error %v want %d", tt, len(base.requests), err, tt.want)
			}
			if s := statsOf(t, transport); (s.Denied.Count(retry.ReasonOnce) == 1) != (tt.want == 1) {
				t.Errorf("%+v: got %+v", tt, s)
			}
			for _, text := range base.uploads {
				equal(t, "the whole body of each attempt", text == "text" || tt.body == nil, true)
			}
			_ = response.Body.Close()
		})
	}
}

// A server of gRPC may delay or forbid retries of a call that may be repeated.
func TestRetry_OfGRPC(t *testing.T) {
	for _, code := range []string{"8", "14"} {
		for pushback, want := range map[string]int{"": 3, "5000": 3, "-1": 1, "never": 1} {
			synctest.Test(t, func(t *testing.T) {
				fields, sent, begun := http.Header{"Grpc-Status": {code}}, 0, time.Now()
				if pushback != "" {
					fields.Set("Grpc-Retry-Pushback-Ms", pushback)
				}
				base := grpcResponse(fields, nil, "")
				transport := retrying(t, roundTrip(func(r *http.Request) (*http.Response, error) {
					sent++
					return base(r)
				}), httpthrottle.TransportConfig{Repeatable: func(*http.Request) bool { return true }})
				read(t, transport, get(t.Context()))
				what := "code " + code + ", pushback " + pushback
				equal(t, what+": attempts", sent, want)
				equal(t, what+": denied", statsOf(t, transport).Denied.Count(retry.ReasonPushback), uint64(min(1, 3-want)))
				equal(t, what+": waited", time.Since(begun) >= 10*time.Second, pushback == "5000")
			})
		}
	}
}
