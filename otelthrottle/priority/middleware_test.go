package priority_test

import (
	"bytes"
	"context"
	"fmt"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/spillway-go/spillway/otelthrottle/priority"
	"github.com/spillway-go/spillway/throttle"
)

func TestMiddleware(t *testing.T) {
	long := ",a=" + strings.Repeat("x", 8192)
	for name, c := range map[string]struct {
		trust throttle.Trust
		lines []string
		want  throttle.Priority
		sent  string // the header that the handler sees
	}{
		"no header":                    {trusting, nil, throttle.Low, "[]"},
		"empty header":                 {trusting, []string{""}, throttle.Low, "[]"},
		"trusted":                      {trusting, []string{"a=1, throttle.priority=medium;p ,b=2"}, throttle.Medium, "[a=1, throttle.priority=medium;p ,b=2]"},
		"trusted, spaced":              {trusting, []string{"throttle.priority = medium ;p"}, throttle.Medium, "[throttle.priority = medium ;p]"},
		"trusted, second line":         {trusting, []string{"a=1", "throttle.priority=medium"}, throttle.Medium, "[a=1 throttle.priority=medium]"},
		"trusted, below the default":   {trusting, []string{"throttle.priority=p7"}, 7, "[throttle.priority=p7]"},
		"trusted, too high":            {trusting, []string{"a=1", "throttle.priority=high;p,b=2"}, throttle.Important, "[a=1,b=2,throttle.priority=important]"},
		"trusted, percent-encoded":     {trusting, []string{"throttle.priority=%68igh"}, throttle.Important, "[throttle.priority=important]"},
		"trusted, unknown":             {trusting, []string{"throttle.priority=HIGH,a=1"}, throttle.Low, "[a=1]"},
		"trusted, malformed":           {trusting, []string{"throttle.priority=me dium,a=1"}, throttle.Low, "[a=1]"},
		"trusted, no value":            {trusting, []string{"throttle.priority,a=1"}, throttle.Low, "[a=1]"},
		"trusted, bad property":        {trusting, []string{"throttle.priority=medium;=,a=1"}, throttle.Low, "[a=1]"},
		"trusted, repeated":            {trusting, []string{"throttle.priority=low,throttle.priority=medium"}, throttle.Low, "[]"},
		"trusted, repeated the same":   {trusting, []string{"throttle.priority=medium,a=1,throttle.priority=medium"}, throttle.Low, "[a=1]"},
		"trusted, repeated in lines":   {trusting, []string{"throttle.priority=medium", "a=1", "throttle.priority=important"}, throttle.Low, "[a=1]"},
		"trusted, repeated with space": {trusting, []string{"throttle.priority=medium, throttle.priority =medium"}, throttle.Low, "[]"},
		"trusted, repeated, malformed": {trusting, []string{"throttle.priority=me dium,throttle.priority=medium"}, throttle.Low, "[]"},
		"trusted, repeated, no value":  {trusting, []string{"throttle.priority;p,throttle.priority=medium"}, throttle.Low, "[]"},
		"trusted, beside a disguise":   {trusting, []string{"throttle.priority=medium,throttle%2Epriority=high"}, throttle.Low, "[]"},
		"trusted, 64 members":          {trusting, []string{many(63), "throttle.priority=medium,,"}, throttle.Medium, "[" + many(63) + " throttle.priority=medium,,]"},
		"trusted, 65 members":          {trusting, []string{"throttle.priority=medium", many(64)}, throttle.Low, "[" + many(64) + "]"},
		"trusted, too long":            {trusting, []string{"throttle.priority=medium" + long}, throttle.Low, "[" + long[1:] + "]"},
		"trusted, too long together":   {trusting, []string{"throttle.priority=medium", "a=" + long[3:8160+3], "b=12345"}, throttle.Low, "[a=" + long[3:8160+3] + ",b=12345]"},
		"untrusted":                    {wary, []string{"throttle.priority=high,a=1;throttle.priority=high"}, throttle.Low, "[a=1;throttle.priority=high]"},
		"untrusted, default":           {wary, []string{"throttle.priority=low"}, throttle.Low, "[]"},
		"untrusted, asks for less":     {wary, []string{"throttle.priority=p7"}, throttle.Low, "[]"},
		"untrusted, in disguise":       {wary, []string{"a=1,throttle%2Epriority=high"}, throttle.Low, "[a=1]"},
		"untrusted, hidden character":  {wary, []string{"a=1,throttle.priority\xa0=high"}, throttle.Low, "[a=1]"},
		"untrusted, repeated":          {wary, []string{"throttle.priority=high,throttle.priority=high"}, throttle.Low, "[]"},
		"untrusted, others":            {wary, []string{"a=1,,b = %zz", "\x00,c"}, throttle.Low, "[a=1,,b = %zz \x00,c]"},
	} {
		t.Run(name, func(t *testing.T) {
			inside := extracted(http.Header{"Baggage": c.lines}) // as otelhttp hands it on
			for where, ctx := range map[string]context.Context{"alone": context.Background(), "inside": inside} {
				got := serve(t, ctx, c.trust, c.lines...)
				equal(t, where+": priority", got.priority(), c.want)
				equal(t, where+": header", fmt.Sprint(got.header["Baggage"]), c.sent)
				again := onward(extracted(got.header)) // by a handler that extracts once more
				equal(t, where+": onward", onward(got.ctx), again)
			}
		})
	}
}

// The context may have more baggage than the header: what another middleware has extracted is kept.
func TestMiddlewareKeepsTheContextsBaggage(t *testing.T) {
	got := serve(t, carrying("a=1"), trusting, "b=2,throttle.priority=medium")
	equal(t, "baggage", fmt.Sprint(members(got.ctx)), "map[a:a=1]")
	equal(t, "priority", got.priority(), throttle.Low)
	equal(t, "header", fmt.Sprint(got.header["Baggage"]), "[b=2]")
}

// Not every propagator minds the limits, so that what is in the context may come from a header that is beyond them.
func TestMiddlewareMindsTheLimits(t *testing.T) {
	for size, want := range map[int]throttle.Priority{8191: throttle.Medium, 8192: throttle.Medium, 8193: throttle.Low} {
		lines := []string{"throttle.priority=medium", "a=1", ""}
		lines[2] = "b=" + strings.Repeat("x", size-len(strings.Join(lines, ","))-len("b="))
		got := serve(t, carrying("throttle.priority=medium"), trusting, lines...)
		equal(t, fmt.Sprint("priority after bytes: ", size), got.priority(), want)
		equal(t, fmt.Sprint("onward after bytes: ", size), len(words(got.header)) == 1, want == throttle.Medium)
	}
}

// A handler in front sees only its own request: otelhttp reads the route from it, net/http removes the form's files.
func TestMiddlewareHandsBack(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /orders/{id}", func(_ http.ResponseWriter, r *http.Request) {
		equal(t, "path value", r.PathValue("id"), "7")
		if err := r.ParseMultipartForm(1 << 10); err != nil {
			t.Error(err)
		}
		panic(http.ErrAbortHandler)
	})
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	_ = form.WriteField("a", "1")
	_ = form.Close()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/orders/7", &body)
	r.Header.Set("Content-Type", form.FormDataContentType())

	func() {
		defer func() { equal(t, "panic", recover(), any(http.ErrAbortHandler)) }()
		priority.Middleware(wary)(mux).ServeHTTP(httptest.NewRecorder(), r)
	}()
	equal(t, "pattern", r.Pattern, "POST /orders/{id}")
	if r.MultipartForm == nil || r.MultipartForm.Value["a"][0] != "1" {
		t.Errorf("form: got %v", r.MultipartForm)
	}
}
