package control_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/backoff"
	"github.com/spillway-go/spillway/throttle/bucket"
	"github.com/spillway-go/spillway/throttle/control"
)

func byHeader(r *http.Request) (string, error) {
	if who := r.Header.Get("User"); who != "" {
		return who, nil
	}
	return "", errors.New("secret detail")
}

func newHandler(t testing.TB, c *control.Control, authorize control.Authorize) http.Handler {
	t.Helper()
	h, err := c.Handler(authorize)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// send sends a request of ana with a JSON body, after change.
func send(h http.Handler, method, body string, change func(*http.Request)) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "http://10.0.0.7:9464/debug/throttle/control", strings.NewReader(body))
	r.Header.Set("User", "ana")
	r.Header.Set("Content-Type", "application/json")
	if change != nil {
		change(r)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

const off = `{"throttles": {"stock": {"mode": "off", "for": "1m", "reason": "INC-7"}}}`

// TestHandler_changes a throttle for a minute, and shows who and why meanwhile.
func TestHandler_changes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r recorder
		c := newControl(t, r.hooks())
		th, h := newThrottle(t, c, "stock"), newHandler(t, c, byHeader)
		var report control.Report
		if w := send(h, "POST", off, nil); w.Code != 200 || json.Unmarshal(w.Body.Bytes(), &report) != nil || len(report.Changes) != 1 {
			t.Fatalf("got %d %s", w.Code, w.Body)
		}
		if got := report.Changes[0].String(); th.Stats().Mode != throttle.ModeOff ||
			got != `throttle stock: applied, mode enforce -> off, source http, by "ana", reason "INC-7", until 2000-01-01T00:01:00Z` {
			t.Errorf("got %v and %s", th.Stats().Mode, got)
		}
		var status control.Status
		w := send(h, "GET", "", nil)
		if w.Code != 200 || json.Unmarshal(w.Body.Bytes(), &status) != nil || status.Things[0].Settings[0].By != "ana" {
			t.Errorf("got %d %s", w.Code, w.Body)
		}
		equal(t, "content type", w.Header().Get("Content-Type"), "application/json; charset=utf-8")
		send(h, "POST", `{"throttles": {"stock": {"ratio": 3, "for": "10m", "reason": "INC-8"}}}`, nil)
		if s := th.Stats(); s.Mode != throttle.ModeEnforce || s.Ratio != 3 {
			t.Errorf("another line: got %v and %v", s.Mode, s.Ratio)
		}
		send(h, "POST", `{"throttles": {"stock": null}}`, nil)
		equal(t, "ratio after null", th.Stats().Ratio, 2)
		equal(t, "status of null again", send(h, "POST", `{"throttles": {"stock": null}}`, nil).Code, 200)
		send(h, "POST", off, nil)
		time.Sleep(61 * time.Second)
		if tuned, _ := r.take(); th.Stats().Mode != throttle.ModeEnforce || len(tuned) != 5 {
			t.Errorf("after a minute: got %v and %q", th.Stats().Mode, tuned)
		}
	})
}

// TestHandler_saysWhoEnded a line: the sender of the request, not the one of the line. A line whose time ends
// keeps its own.
func TestHandler_saysWhoEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r recorder
		c := newControl(t, r.hooks())
		h := newHandler(t, c, byHeader)
		newThrottle(t, c, "stock")
		send(h, "POST", off, nil)
		send(h, "POST", `{"throttles": {"stock": null}}`, func(r *http.Request) { r.Header.Set("User", "bob") })
		send(h, "POST", off, nil)
		time.Sleep(61 * time.Second)
		tuned, _ := r.take()
		for i, want := range []string{`applied, mode enforce -> off, source http, by "ana"`, `ended, mode off -> enforce, source http, by "bob"`,
			`applied, mode enforce -> off, source http, by "ana"`, `ended, mode off -> enforce, source http, by "ana"`} {
			if len(tuned) != 4 || !strings.Contains(fmt.Sprint(tuned[i]), want) {
				t.Errorf("change %d: got %q want %q", i, tuned, want)
			}
		}
	})
}

// TestHandler_isAboveTheFile for each setting that both have.
func TestHandler_isAboveTheFile(t *testing.T) {
	c := newControl(t, control.Hooks{})
	th, h := newThrottle(t, c, "stock"), newHandler(t, c, byHeader)
	send(h, "POST", off, nil)
	apply(t, c, `{"throttles": {"stock": {"mode": "shadow", "ratio": 5}}}`)
	if s := th.Stats(); s.Mode != throttle.ModeOff || s.Ratio != 5 {
		t.Errorf("got %v and %v want off and 5", s.Mode, s.Ratio)
	}
}

// TestHandler_linesThatFitOnlyAlone: with the capacity of HTTP and the period of the file, the bucket would take longer
// than ten years to fill.
func TestHandler_linesThatFitOnlyAlone(t *testing.T) {
	c := newControl(t, control.Hooks{})
	_ = bucket.Must(bucket.New(bucket.Config{Name: "api", Limit: bucket.PerSecond(10), Hooks: c.BucketHooks()}))
	const file, none = `{"buckets": {"api": {"period": "24h"}}}`, `{}`
	apply(t, c, file)
	apply(t, c, none)
	if w := send(newHandler(t, c, byHeader), http.MethodPost, `{"buckets": {"api": {"capacity": 1000000, "for": "1m", "reason": "x"}}}`, nil); w.Code != http.StatusOK {
		t.Fatalf("got %d %s", w.Code, w.Body)
	}
	if _, err := c.Apply(t.Context(), parse(t, file)); err == nil {
		t.Error("got no error")
	}
}

// TestHandler_aLineThatDoesNotFit a new backoff does not stop other changes.
func TestHandler_aLineThatDoesNotFit(t *testing.T) {
	c := newControl(t, control.Hooks{})
	payments, h := newThrottle(t, c, "payments"), newHandler(t, c, byHeader)
	build := func(initial time.Duration) backoff.Tuning {
		now, _ := backoff.Must(backoff.New(backoff.Config{Name: "table", InitialInterval: initial, MaxInterval: time.Hour, Hooks: c.BackoffHooks()})).Tuning()
		return now
	}
	build(time.Millisecond)
	if w := send(h, http.MethodPost, `{"backoffs": {"table": {"max_interval": "1s", "for": "1h", "reason": "x"}}}`, nil); w.Code != http.StatusOK {
		t.Fatalf("got %d %s", w.Code, w.Body)
	}
	for initial, want := range map[time.Duration]time.Duration{time.Millisecond: time.Second, time.Minute: time.Hour} {
		equal(t, "MaxInterval of one that begins with "+initial.String(), build(initial).MaxInterval, want)
	}
	for interval, fits := range map[string]bool{"2m": true, "10s": false} { // for the same name
		_, err := c.Apply(t.Context(), parse(t, `{"backoffs": {"table": {"max_interval": "`+interval+`"}}}`))
		if (err == nil) != fits {
			t.Errorf("apply %s: got error %v", interval, err)
		}
	}
	w := send(h, http.MethodPost, `{"throttles": {"payments": {"mode": "off", "for": "1h", "reason": "x"}}}`, nil)
	if w.Code != http.StatusOK || payments.Stats().Mode != throttle.ModeOff {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
}

// TestHandler_refuses attempts that must fail. None changes anything, and each POST of an operator is reported.
func TestHandler_refuses(t *testing.T) {
	header := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	body := func(line string) string { return `{"throttles": {"stock": ` + line + `}}` }
	for _, tt := range []struct {
		name, method, body string
		change             func(*http.Request)
		code               int
		want               string
		failed             int
	}{
		{"cross-site", "POST", off, header("Sec-Fetch-Site", "cross-site"), 403, "another site", 0},
		{"other origin", "POST", off, header("Origin", "http://evil.example"), 403, "another site", 0},
		{"null origin", "POST", off, header("Origin", "null"), 403, "another site", 0},
		{"form", "POST", off, header("Content-Type", "application/x-www-form-urlencoded"), 415, "want application/json", 1},
		{"no type", "POST", off, func(r *http.Request) { r.Header.Del("Content-Type") }, 415, "want application/json", 1},
		{"not authorized", "POST", off, header("User", ""), 403, "control: not authorized\n", 0},
		{"not authorized to read", "GET", "", header("User", ""), 403, "control: not authorized\n", 0},
		{"DELETE", "DELETE", "", nil, 405, `method is "DELETE": want GET or POST`, 0},
		{"10 MB", "POST", strings.Repeat(" ", 10<<20), nil, 413, "want at most 65536 bytes", 1},
		{"unknown field", "POST", body(`{"mod": "off", "for": "1m", "reason": "x"}`), nil, 400, `unknown field "mod"`, 1},
		{"unknown name", "POST", strings.Replace(off, "stock", "stcok", 1), nil, 422, `throttle "stcok": unknown name`, 1},
		{"null for an unknown name", "POST", `{"throttles": {"stcok": null}}`, nil, 422, `throttle "stcok": unknown name: it has no line that null could end`, 1},
		{"path", "POST", strings.Replace(off, `stock`, `..\\..\\secret`, 1), nil, 422, "name is a path with ..", 1},
		{"no reason", "POST", body(`{"mode": "off", "for": "1m"}`), nil, 422, "reason is missing", 1},
		{"no time", "POST", body(`{"mode": "off", "reason": "x"}`), nil, 422, "for is missing", 1},
		{"long time", "POST", body(`{"mode": "off", "reason": "x", "for": "25h"}`), nil, 422, "at most 24h", 1},
		{"past", "POST", body(`{"mode": "off", "reason": "x", "until": "2001-01-01T00:00:00Z"}`), nil, 422, "want a time in the future", 1},
		{"by", "POST", body(`{"mode": "off", "reason": "x", "for": "1m", "by": "root"}`), nil, 400, "by is set: it is the result of Authorize", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var r recorder
			c := newControl(t, r.hooks())
			th := newThrottle(t, c, "stock")
			w := send(newHandler(t, c, byHeader), tt.method, tt.body, tt.change)
			if w.Code != tt.code || !strings.Contains(w.Body.String(), tt.want) || strings.Contains(w.Body.String(), "secret detail") {
				t.Errorf("got %d %s want %d %s", w.Code, w.Body, tt.code, tt.want)
			}
			now, code := th.Tuning()
			if tuned, failed := r.take(); now != code || tuned != nil || len(failed) != tt.failed {
				t.Errorf("got %+v, %q and %v want no change and %d reports", now, tuned, failed, tt.failed)
			}
		})
	}
}

// TestHandler_accepts requests of a browser's own page, and of programs.
func TestHandler_accepts(t *testing.T) {
	c := newControl(t, control.Hooks{})
	newThrottle(t, c, "stock")
	h := newHandler(t, c, byHeader)
	for name, change := range map[string]func(*http.Request){
		"curl":        nil,
		"own page":    func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "same-origin") },
		"own origin":  func(r *http.Request) { r.Header.Set("Origin", "http://10.0.0.7:9464") },
		"with params": func(r *http.Request) { r.Header.Set("Content-Type", "application/json; charset=utf-8") },
	} {
		equal(t, name, send(h, "POST", off, change).Code, 200)
	}
}

// TestHandler_needsAuthorize that returns a name.
func TestHandler_needsAuthorize(t *testing.T) {
	c := newControl(t, control.Hooks{})
	var none *control.Control
	for name, err := range map[string]error{"nil": second(c.Handler(nil)), "nil Control": second(none.Handler(byHeader))} {
		if err == nil {
			t.Errorf("%s: got no error", name)
		}
	}
	h := newHandler(t, c, func(*http.Request) (string, error) { return "", nil })
	equal(t, "no name", send(h, "GET", "", nil).Code, 403)
	h = newHandler(t, c, func(*http.Request) (string, error) { return strings.Repeat("x", 501), nil })
	newThrottle(t, c, "stock")
	if w := send(h, "POST", off, nil); w.Code != 422 || !strings.Contains(w.Body.String(), "by has 501 bytes") {
		t.Errorf("long name: got %d %s", w.Code, w.Body)
	}
}

func second[T any](_ T, err error) error { return err }

// TestHandler_bounded lines: a body cannot add names that nothing has without end.
func TestHandler_bounded(t *testing.T) {
	c := newControl(t, control.Hooks{})
	h := newHandler(t, c, byHeader)
	refused := false
	for i := range 20 {
		var b strings.Builder
		for j := range 100 {
			fmt.Fprintf(&b, `,"n%d-%d":{"mode":"off","for":"1m","reason":"x","optional":true}`, i, j)
		}
		if w := send(h, "POST", `{"throttles":{`+b.String()[1:]+`}}`, nil); w.Code == 422 && strings.Contains(w.Body.String(), "want at most 1000 lines") {
			refused = true
		}
	}
	if n := c.Stats().Overrides[throttle.SourceHTTP]; !refused || n != 1000 {
		t.Errorf("got %d lines want 1000", n)
	}
}
