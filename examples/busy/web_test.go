package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/spillway-go/spillway/examples/internal/page/pagetest"
)

// still returns a busy that sends nothing.
func still() *busy {
	return newBusy(settings{handler: 5 * time.Millisecond, load: 3}, 200, "http://protected", "http://bare")
}

func TestThePageHasWhatItNeeds(t *testing.T) {
	ids := strings.Fields("load preset-calm preset-overload preset-most burst story connection chart-good chart-wait chart-shed")
	for _, id := range strings.Fields("good high important medium low wait p99 shed late") {
		ids = append(ids, "with-"+id, "without-"+id)
	}
	pagetest.Check(t, still().handler(""), ids...)
}

func post(t *testing.T, b *busy, host, body string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+host+"/control", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	recorder := httptest.NewRecorder()
	b.handler("127.0.0.1:8080").ServeHTTP(recorder, r)
	return recorder
}

func TestControl(t *testing.T) {
	for _, tt := range []struct {
		body  string
		code  int
		load  float64
		burst int64
	}{
		{`{"load":10}`, 200, 10, 0},
		{`{"load":0.5,"burst":true}`, 200, 0.5, 400},
		{`{}`, 200, 3, 0},
		{`{"load":10.5}`, 400, 3, 0},
		{`{"load":-1,"burst":true}`, 400, 3, 0},
		{`{"lode":1}`, 400, 3, 0},
		{`{"load":` + strings.Repeat(" ", 2000) + `1}`, 413, 3, 0},
	} {
		b := still()
		got := post(t, b, "127.0.0.1:8080", tt.body)
		if got.Code != tt.code || b.load.get() != tt.load || b.load.burst.Load() != tt.burst {
			t.Errorf("%.30s: got status %d, load %v and a burst of %d want %d, %v and %d",
				tt.body, got.Code, b.load.get(), b.load.burst.Load(), tt.code, tt.load, tt.burst)
		}
		var answer struct{ Error string }
		if err := json.Unmarshal(got.Body.Bytes(), &answer); err != nil || (answer.Error == "") != (tt.code == 200) {
			t.Errorf("%.30s: got %s want an error exactly if it is refused", tt.body, got.Body)
		}
	}
}

func TestControlRefusesOtherSites(t *testing.T) {
	b := still()
	for host, headers := range map[string][]string{
		"127.0.0.1:8080":    {"Sec-Fetch-Site", "cross-site", "Origin", "https://evil.example"},
		"evil.example:8080": nil,
	} {
		if got := post(t, b, host, `{"load":10}`, headers...); got.Code != http.StatusForbidden || b.load.get() != 3 {
			t.Errorf("%s: got status %d and load %v want 403 and 3", host, got.Code, b.load.get())
		}
	}
}

func TestTheTerminal(t *testing.T) {
	b := still()
	b.protected.record(0, good, 40*time.Millisecond, 0)
	b.protected.record(3, shed, 0, 0)
	b.bare.record(1, late, time.Second, 0)
	got := b.read().line(12 * time.Second)
	const want = "  12 s  3.0x     4   100    -    -    0    40     0      4     0     -    0    -    -     -     0      4\n"
	equal(t, "line", got, want)
}
