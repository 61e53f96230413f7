package browser

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/spillway-go/spillway/internal/integration/program"
)

// value returns a script for the number in an element of the storefront.
func value(id string) string {
	return fmt.Sprintf(`Number(document.querySelector("#%s").dataset.value)`, id)
}

// storefront starts a storefront and opens its page.
func storefront(t *testing.T, flags ...string) (p *tab, url string) {
	t.Helper()
	p = newTab(t, 1400, 1000)
	url = program.Example(t, "storefront", append([]string{"-listen", "127.0.0.1:0"}, flags...)...)
	p.open(url)
	p.eventually("numbers arrive", `document.querySelector("#goodput").dataset.value !== ""`)
	return p, url
}

func TestStorefront_Collapse(t *testing.T) {
	p, _ := storefront(t)
	p.do("four times the load", chromedp.Click("#preset-overload"))
	p.eventually("with the throttle nine tenths of the capacity are used", value("goodput")+` > 90 && `+value("shed-rate")+` > 0`)
	p.eventually("its twin without one has collapsed", value("twin-goodput")+` < 40`)
	p.eventually("High fares better than Low", value("success-high")+` > `+value("success-low")+` + 50`)

	p.do("throttle off", chromedp.Click(`label[for="throttle-off"]`))
	p.eventually("without the throttle goodput is lost", value("goodput")+` < 40 && `+value("shed-rate")+` === 0`)

	p.do("throttle on", chromedp.Click(`label[for="throttle-on"]`))
	p.eventually("the throttle brings it back", value("goodput")+` > 90`)
}

func TestStorefront_Slow(t *testing.T) {
	p, url := storefront(t)
	p.do("a slow backend", chromedp.Click("#preset-slow"))
	p.eventually("without the throttle calls wait until they give up", value("twin-latency")+` > 450 && `+value("twin-goodput")+` < 10`)
	p.eventually("with it High is quick, and served", value("latency-high")+` < 200 && `+value("success-high")+` > 60`)
	p.do("calm", chromedp.Click("#preset-calm"))
	p.eventually("all is well again", value("goodput")+` > 90 && `+value("twin-latency")+` < 50`)

	p.do("slow again", chromedp.Click("#preset-slow"))
	p.eventually("the shop knows", `document.querySelector("#backend-slow").checked && `+value("twin-latency")+` > 450`)
	p.open(url + "/debug/throttle")
	p.eventually("the other page shows the limit", `/slow: limit/.test(document.querySelector(".card")?.textContent)`)
	p.do("open the details", chromedp.Click(".card .more"))
	p.eventually("and the calls", `/late.*booked as rejected.*open call/.test(document.querySelector(".details").textContent)`)
}

func TestStorefront_Policy(t *testing.T) {
	p, url := storefront(t, "-scenario", "overload")
	p.eventually("it sheds", value("shed-rate")+` > 0`)
	p.do("SRE", chromedp.Click(`label[for="policy-sre"]`))
	p.eventually("the shop knows", `window.known || (window.asking ||= fetch("debug/throttle?format=json").then((r) => r.text())
		.then((t) => { window.known = t.includes('"policy":"sre"'); window.asking = null }), false)`)
	p.open(url + "/debug/throttle")
	p.eventually("the other page shows it", `[...document.querySelectorAll(".card")].some((c) => /sre/.test(c.textContent))`)
}

func TestStorefront_Charts(t *testing.T) {
	p, _ := storefront(t, "-capacity", "420")
	p.eventually("the capacity is that of the flag, between two steps of the slider", `document.querySelector("#capacity-value").textContent === "420 calls/s"`)
	for _, id := range []string{"chart-goodput", "chart-latency", "chart-success", "chart-shed", "chart-probability"} {
		before := evaluate[string](p, fmt.Sprintf(`window.before = document.querySelector("#%s").toDataURL()`, id))
		if len(before) < 1000 {
			t.Errorf("%s is empty", id)
		}
		p.eventually(id+" moves", fmt.Sprintf(`document.querySelector("#%s").toDataURL() !== window.before`, id))
	}
	p.fitsEverywhere()
}
