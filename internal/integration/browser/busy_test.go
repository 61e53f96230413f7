package browser

import (
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/spillway-go/spillway/internal/integration/program"
)

// busy starts two busy servers and opens their page.
func busy(t *testing.T, flags ...string) (p *tab, url string) {
	t.Helper()
	p = newTab(t, 960, 900)
	url = program.Example(t, "busy", append([]string{"-addr", "127.0.0.1:0"}, flags...)...)
	p.open(url)
	p.eventually("numbers arrive", `document.querySelector("#with-good").dataset.value !== ""`)
	return p, url
}

// TestBusy begins with a tenth of the load that was measured as the capacity: beside all other tests the servers soon get fewer
// processors than while it was measured, and the server without Spillway never recovers from an overload that lasts.
func TestBusy(t *testing.T) {
	p, _ := busy(t, "-load", "0.1")
	p.eventually("both servers answer", value("with-good")+` > 0 && `+value("without-good")+` > 0`)
	p.do("three times the load", chromedp.Click("#preset-overload"))
	p.eventually("the program sends it", `document.querySelector("#load").value === "3"`)
	p.eventually("with Spillway the least important requests are shed", value("with-shed")+` > 0`)
	p.eventually("without it clients give up", value("without-late")+` > 0`)
	p.eventually("High fares better than Low", value("with-high")+` > `+value("with-low"))
	p.do("a burst", chromedp.Click("#burst"))
	p.fitsEverywhere()
}
