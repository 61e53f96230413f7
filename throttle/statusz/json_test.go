package statusz

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle"
)

// TestGolden compares all that can be shown with testdata/document.json, where the field names are a promise.
func TestGolden(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New()
		defer p.Close()
		p.process = process{Command: "shop", Host: "web-7", PID: 4711, Go: "go1.26.0", Started: timestamp(time.Now())}
		dice := func() float64 { return 0.5 }
		orders := newThrottle(t, p, throttle.Config{Name: "orders", Rand: dice, Priorities: 2})
		shadow := newThrottle(t, p, throttle.Config{
			Name: "<shadow>", Rand: dice, Priorities: 1, Mode: throttle.Shadow, Policy: throttle.Tiered, Window: 20 * time.Second,
		})
		p.Add(status(Status{
			Kind: "breaker", Name: "payments", State: "open", Level: Bad,
			Figures:     []Figure{{"failures", 96.2, "%"}, {"trips", math.Inf(1), ""}},
			Transitions: []Transition{{time.Date(2026, 11, 21, 5, 57, 2, 120e6, time.UTC), "closed", "open"}},
		}))
		p.Add(SourceFunc(func() Status { panic("no store") }))
		show(t, p)
		time.Sleep(period / 2)
		call(orders, throttle.High, 20, nil)
		call(orders, 7, 120, down())
		call(shadow, throttle.High, 30, down())
		time.Sleep(period) // and a new look at the window
		call(orders, 7, 5, nil)
		call(shadow, throttle.High, 10, nil)
		_ = orders.Do(t.Context(), throttle.High, func(context.Context) error { return down() },
			func(context.Context, error, bool) error { return nil })
		time.Sleep(period)
		synctest.Wait()
		var got bytes.Buffer
		body := request(p, http.MethodGet, "/?format=json&history=1").Body.Bytes()
		if err := json.Indent(&got, body, "", "  "); err != nil {
			t.Fatal(err)
		}
		want, err := os.ReadFile("testdata/document.json")
		if err != nil || got.String() != string(want) {
			t.Errorf("got %s\nwant testdata/document.json (%v)", got.String(), err)
		}
	})
}

// TestHostileNames has names that would like to be something else.
func TestHostileNames(t *testing.T) {
	names := []string{
		`<script>alert("x")</script>`, `</style><img src=x onerror=alert(1)>`, `"quoted' \ & <b>`, "line\nevent: x\ndata: y\r\n\r\n",
		"\x00\x1b[31m\x7f", "\u202eexe.gnp", "\u2028\u2029", "bad \xff\xfe", strings.Repeat("long ", 51), "שלום", "{{page.js}}",
	}
	synctest.Test(t, func(t *testing.T) {
		p := New()
		defer p.Close()
		for _, name := range names {
			newThrottle(t, p, throttle.Config{Name: name, Priorities: 1})
			p.Add(status(Status{Kind: name, Name: name, State: name, Figures: []Figure{{name, 1, name}}, Transitions: []Transition{{To: name}}}))
		}
		doc := show(t, p)
		viewer := host(t, p).subscribe(t)
		event, data, err := viewer.next()
		if err != nil || event != "snapshot" {
			t.Fatalf("got event %q, %v", event, err)
		}
		rows := data["throttles"].([]any)
		if len(doc.Throttles) != len(names) || len(rows) != len(names) || len(data["sources"].([]any)) != len(names) {
			t.Fatalf("got %d and %d rows want %d", len(doc.Throttles), len(rows), len(names))
		}
		for _, name := range names {
			want := strings.ToValidUTF8(strings.ReplaceAll(name, "\xff\xfe", "\xff \xfe"), "\uFFFD")
			want = strings.ReplaceAll(want, "\uFFFD \uFFFD", "\uFFFD\uFFFD")
			find(t, doc, want)
		}
		for _, target := range []string{"/", "/?format=json"} {
			body := request(p, http.MethodGet, target).Body.String()
			if strings.Contains(body, "<script>alert") || strings.Contains(body, "onerror=") && strings.Contains(body, "<img") {
				t.Errorf("%s has markup from a name", target)
			}
		}
	})
}
