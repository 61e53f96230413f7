package browser

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/control"
)

// TestStatusz_Control switches a throttle off on the page, for a time and with a reason. It comes back by itself.
func TestStatusz_Control(t *testing.T) {
	p := newTab(t, 1200, 900)
	page, url := debug(t)
	var mu sync.Mutex
	var changes []string
	ctl := throttle.Must(control.New(control.Config{Hooks: control.Hooks{Tuned: func(_ context.Context, e control.TunedEvent) {
		mu.Lock()
		defer mu.Unlock()
		changes = append(changes, fmt.Sprint(e.Name, " ", e.Result, " ", e.Values, " ", e.Source, " ", e.By, " ", e.Reason))
	}}}))
	t.Cleanup(func() { _ = ctl.Close() })
	page.Control(throttle.Must(ctl.Handler(func(*http.Request) (string, error) { return "ana", nil })))
	hooks := throttle.JoinHooks(page.Hooks(), ctl.ThrottleHooks())
	th := throttle.Must(throttle.New(throttle.Config{Name: "orders", Hooks: hooks}))
	for range 2000 {
		_ = th.Do(t.Context(), throttle.Low, func(context.Context) error { return context.DeadlineExceeded })
	}
	_ = throttle.Must(throttle.New(throttle.Config{Name: hostile, Hooks: hooks}))
	shed := func() bool {
		n := th.Stats().Priorities[throttle.Low].Shed.Sum()
		for range 100 {
			_ = th.Do(t.Context(), throttle.Low, func(context.Context) error { return context.DeadlineExceeded })
		}
		return th.Stats().Priorities[throttle.Low].Shed.Sum() > n
	}
	if !shed() {
		t.Fatal("at first: got no shed call")
	}

	p.open(url + "?q=orders&sort=name")
	p.eventually("the throttle is there", live+` && document.querySelectorAll(".card:not([hidden])").length === 1`)
	const card = `.card:not([hidden]) `
	p.do("open its details", chromedp.Click(card+".more"))
	p.eventually("the details have controls", `document.querySelector(".card:not([hidden]) .control:not([hidden])") !== null`)
	p.do("send a wrong ratio", chromedp.SendKeys(card+"[name=ratio]", "0.5"), chromedp.SendKeys(card+"[name=reason]", hostile), chromedp.Click(card+".control [type=submit]"))
	p.eventually("the error names the field and the range", `document.querySelector(".control .result").textContent.includes("Tuning.Ratio is 0.5: want more than 1")`)
	p.clearProblems() // the console has the status 422, as expected

	p.do("switch it off", chromedp.Evaluate[chromedp.Void](`document.querySelector(".control [name=ratio]").value = "";
		document.querySelector(".control [name=for]").value = "10m"; document.querySelector(".control [name=mode]").value = "off"`),
		chromedp.Click(card+".control [type=submit]"))
	p.eventually("the page shows who, why and until when", `/^mode off \(code: enforce\), by ana, over http, until \d\d:\d\d:\d\d: <img/.test(document.querySelector(".card:not([hidden]) .overrides").textContent)`)
	p.eventually("and the mode", `document.querySelector(".card:not([hidden]) .badges").textContent.includes("off")`)
	if shed() {
		t.Error("off: got a shed call")
	}
	checkLayout(t, p)
	p.do("make that shorter", chromedp.Evaluate[chromedp.Void](`document.querySelector(".control [name=for]").value = "1s"`), chromedp.Click(card+".control [type=submit]"))
	p.eventually("it comes back by itself", `document.querySelector(".card:not([hidden]) .overrides").textContent === "" && document.querySelector(".card:not([hidden]) .badges").textContent.includes("enforce")`)

	p.do("switch it to shadow", chromedp.Evaluate[chromedp.Void](`document.querySelector(".control [name=for]").value = "10h";
		document.querySelector(".control [name=mode]").value = "shadow"`), chromedp.Click(card+".control [type=submit]"))
	p.eventually("the button that ends it is there", `[...document.querySelectorAll(".card:not([hidden]) .control .button")].some((b) => b.textContent === "End" && !b.hidden)`)
	p.do("end it", chromedp.Click(card+".control [type=button]"))
	p.eventually("it is ended", `document.querySelector(".card:not([hidden]) .overrides").textContent === ""`)
	mu.Lock()
	defer mu.Unlock()
	want := []string{
		"orders applied [{mode enforce off}] http ana " + hostile, "orders applied [] http ana " + hostile,
		"orders ended [{mode off enforce}] http ana " + hostile,
		"orders applied [{mode enforce shadow}] http ana " + hostile, "orders ended [{mode shadow enforce}] http ana " + hostile,
	}
	if fmt.Sprintf("%q", changes) != fmt.Sprintf("%q", want) {
		t.Errorf("hooks: got %q want %q", changes, want)
	}
}

// TestStatusz_WithoutControl has no controls, and asks for none.
func TestStatusz_WithoutControl(t *testing.T) {
	p := newTab(t, 1200, 900)
	page, url := debug(t)
	_ = throttle.Must(throttle.New(throttle.Config{Name: "orders", Hooks: page.Hooks()}))
	p.open(url)
	p.eventually("the throttle is there", live+` && document.querySelectorAll(".card").length === 1`)
	p.do("open its details", chromedp.Click(".card .more"))
	p.eventually("the details have no controls", `document.querySelector(".details") !== null && document.querySelector(".control") === null`)
}
