package browser

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/control"
)

// TestStatusz_Control switches a throttle off on the page, for a time and with a reason. It comes back by itself. The page says who
// did it and why. What hooks, log, metrics and spans say of a change over HTTP, the tests of control and otelthrottle check.
func TestStatusz_Control(t *testing.T) {
	held := 2 * time.Second
	if !testing.Short() {
		held = time.Minute
	}
	p := newTab(t, 1200, 900)
	page, url := debug(t)
	ctl := throttle.Must(control.New(control.Config{}))
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
	p.do("send a wrong ratio", chromedp.SendKeys(card+"[name=ratio]", "0.5"), chromedp.SendKeys(card+"[name=reason]", hostile+strings.Repeat(" and why", 40)), chromedp.Click(card+".control [type=submit]"))
	p.eventually("the error names the field and the range", `document.querySelector(".control .result").textContent.includes("Patch.Ratio is 0.5: want more than 1")`)
	p.clearProblems() // the console has the status 422, as expected

	p.do("switch it off", chromedp.Evaluate[chromedp.Void](`document.querySelector(".control [name=ratio]").value = "";
		document.querySelector(".control [name=for]").value = "10m"; document.querySelector(".control [name=mode]").value = "off"`),
		chromedp.Click(card+".control [type=submit]"))
	p.eventually("the page shows who, why and until when", `/^mode off \(code: enforce\), by ana, over http, until \d\d:\d\d:\d\d: <img/.test(document.querySelector(".card:not([hidden]) .overrides").textContent)`)
	if got := evaluate[int](p, `document.querySelector(".card:not([hidden]) .name").offsetHeight`); got > 30 {
		t.Errorf("the name beside a long reason: got a height of %d pixels want one line", got)
	}
	p.eventually("and the mode", `document.querySelector(".card:not([hidden]) .badges").textContent.includes("off")`)
	if shed() {
		t.Error("off: got a shed call")
	}
	checkLayout(t, p)
	begun := time.Now() // before the change, so it holds until held later at least
	p.do("make that shorter, with the mode as it is", chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`document.querySelector(".control [name=mode]").value = "";
		document.querySelector(".control [name=for]").value = %q`, held)), chromedp.Click(card+".control [type=submit]"))
	time.Sleep(held - time.Second) // it is the clock of a real page
	if early := shed(); early && time.Since(begun) < held {
		t.Error("off, before its end: got a shed call")
	}
	p.eventually("it comes back by itself", `document.querySelector(".card:not([hidden]) .overrides").textContent === "" && document.querySelector(".card:not([hidden]) .badges").textContent.includes("enforce")`)

	p.do("set by a program what has no field", chromedp.Evaluate[chromedp.Void](`fetch(location.pathname + "?format=control", { method: "POST",
		headers: { "Content-Type": "application/json" }, body: '{"throttles": {"orders": {"slow_auto": true, "ratio": 3, "for": "10h", "reason": "INC-7"}}}' })`))
	p.eventually("the page shows it", `document.querySelector(".card:not([hidden]) .overrides").textContent.includes("slow auto true")`)
	p.do("switch it to shadow", chromedp.Evaluate[chromedp.Void](`document.querySelector(".control [name=for]").value = "10h";
		document.querySelector(".control [name=mode]").value = "shadow"`), chromedp.Click(card+".control [type=submit]"))
	p.eventually("both are in force", `/^mode shadow .code: enforce., ratio 3 .*, slow auto true/.test(document.querySelector(".card:not([hidden]) .overrides").textContent)`)
	p.eventually("the button that ends it is there", `[...document.querySelectorAll(".card:not([hidden]) .control .button")].some((b) => b.textContent === "End" && !b.hidden)`)
	p.do("end it", chromedp.Click(card+".control [type=button]"))
	p.eventually("it is ended", `document.querySelector(".card:not([hidden]) .overrides").textContent === ""`)
}
