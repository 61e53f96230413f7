package browser

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
)

var screenshots = flag.String("screenshots", "", "folder of the examples, for the pictures that the README and docs show")

// TestScreenshots takes the screenshots of the README and of docs/slow-backends.md, of a storefront at four times the load and with a slow backend.
func TestScreenshots(t *testing.T) {
	if *screenshots == "" {
		t.Skip("only on demand: make screenshots")
	}
	p, url := storefront(t)
	p.do("four times the load", chromedp.Click("#preset-overload"))
	p.eventually("there is a minute to be seen", `performance.now() > 60_000`)
	p.take("storefront/screenshots/storefront", 1280, 880)
	p.take("storefront/screenshots/storefront", 375, 880)
	p.open(url + "/debug/throttle")
	p.eventually("there is a minute to be seen", `performance.now() > 60_000`)
	p.do("open the details", chromedp.Click(".card .more"))
	p.take("storefront/screenshots/statusz", 1280, 760)
	p.take("storefront/screenshots/statusz", 375, 760)

	p.open(url)
	p.do("calm", chromedp.Click("#preset-calm"))
	p.eventually("there is half a minute to be seen", `performance.now() > 30_000`)
	p.do("a slow backend", chromedp.Click("#preset-slow"))
	p.eventually("there is a minute to be seen", `performance.now() > 60_000`)
	p.take("storefront/screenshots/storefront-slow", 1280, 1130)
}

// TestScreenshots_Busy takes the screenshots of two busy servers: at a load that both can serve, and then at three times their capacity.
func TestScreenshots_Busy(t *testing.T) {
	if *screenshots == "" {
		t.Skip("only on demand: make screenshots")
	}
	p, _ := busy(t, "-load", "0.8")
	p.eventually("there are ten seconds to be seen", `performance.now() > 10_000`)
	p.do("three times the load", chromedp.Click("#preset-overload"))
	p.eventually("there is half a minute to be seen", `performance.now() > 34_000`)
	p.take("busy/screenshots/busy", 960, 742, chromedp.EmulateScale(2))
}

// take takes screenshots of the page in light and in dark mode.
func (p *tab) take(name string, width, height int, options ...chromedp.EmulateViewportOption) {
	p.t.Helper()
	if width < 600 {
		name += "-narrow"
	}
	for _, scheme := range []string{"light", "dark"} {
		p.prefer(scheme)
		p.do("resize", chromedp.EmulateViewport(int64(width), int64(height), options...), chromedp.Sleep(redrawTime))
		picture, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
		if err != nil {
			p.t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(*screenshots, name+"-"+scheme+".png"), picture, 0o644); err != nil {
			p.t.Fatal(err)
		}
	}
}
