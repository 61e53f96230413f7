package statusz

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle"
)

// TestDocument_golden compares the whole document with testdata/document.json, whose field names are API.
func TestDocument_golden(t *testing.T) {
	onPage(t, func(t *testing.T, p *Page) {
		p.process = process{Command: "shop", Host: "web-7", PID: 4711, Go: "go1.26.0", Started: timestamp(time.Now())}
		p.stats = overloadedProcess
		dice := func() float64 { return 0.5 }
		lucky := func() float64 { return math.Nextafter(1, 0) }
		orders := newThrottle(t, p, throttle.Config{Name: "orders", Policy: throttle.SRE, Rand: dice, Priorities: 2})
		shadow := newThrottle(t, p, throttle.Config{
			Name: "<shadow>", Rand: dice, Priorities: 1, Mode: throttle.ModeShadow, Policy: throttle.Tiered, Window: 20 * time.Second,
		})
		hosts := newGroup(t, p, throttle.Config{Name: "hosts", Policy: throttle.SRE, Rand: dice, Priorities: 1})
		for i := range maxMembers + 2 {
			call(throttle.Must(hosts.Get(fmt.Sprintf("host-%02d", i))), throttle.High, 5*i, nil)
		}
		web := newThrottle(t, p, throttle.Config{Name: "web", Policy: throttle.SRE, Priorities: 3})
		slow := newThrottle(t, p, throttle.Config{Name: "slow", Priorities: 2, Slow: 100 * time.Millisecond, SlowAuto: true, Rand: lucky})
		p.Add(status(Status{
			Kind: "breaker", Name: "payments", State: "open", Level: Bad,
			Figures:     []Figure{{"failures", 96.2, "%"}, {"trips", math.Inf(1), ""}},
			Transitions: []Transition{{time.Date(2026, 11, 21, 5, 57, 2, 120e6, time.UTC), "closed", "open"}},
		}))
		p.Add(SourceFunc(func() Status { panic("no store") }))
		show(t, p)
		var open []throttle.Call
		for range 6 {
			open = append(open, throttle.Must(slow.Admit(t.Context(), throttle.Important)))
		}
		call(slow, throttle.Important, 3, nil)
		time.Sleep(sampleInterval / 2)
		call(slow, throttle.Important, 2, nil)
		call(orders, throttle.High, 20, nil)
		call(orders, 7, 120, down())
		call(shadow, throttle.High, 30, down())
		call(throttle.Must(hosts.Get("host-11")), throttle.High, 200, down())
		time.Sleep(sampleInterval) // and a new look at the window
		call(orders, 7, 5, nil)
		call(shadow, throttle.High, 10, nil)
		_ = web.DoLocal(t.Context(), throttle.High, func(context.Context) error { return nil })
		web.Exempt()
		_ = orders.Do(t.Context(), throttle.High, func(context.Context) error { return throttle.MarkOverloaded(down()) },
			func(context.Context, error, bool) error { return nil })
		tick()
		for _, c := range open {
			c.Done(nil)
		}
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

// TestDocument_packageComment looks for each field of the JSON in the package comment, which promises to list them.
func TestDocument_packageComment(t *testing.T) {
	comment, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	_, fields, _ := bytes.Cut(comment, []byte("# JSON"))
	var look func(reflect.Type)
	look = func(typ reflect.Type) {
		for typ.Kind() == reflect.Slice || typ.Kind() == reflect.Pointer {
			typ = typ.Elem()
		}
		if typ.Kind() != reflect.Struct {
			return
		}
		for field := range typ.Fields() {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if !regexp.MustCompile(`\b` + name + `\b`).Match(fields) {
				t.Errorf("got no %q of %v in the package comment", name, typ)
			}
			look(field.Type)
		}
	}
	look(reflect.TypeFor[document]())
}
