package browser

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/statusz"
)

// hostile is a name that would run a script or break the page if it were not escaped.
const hostile = `<img src=x onerror="document.title='owned'"></b>`

const live = `document.querySelector("#main:not([hidden])") !== null && document.querySelector("#state").textContent === "live"`

// cutOff returns a script that lists the elements of the page that are wider than their frame. On a
// telephone the tables of the details may scroll.
func cutOff(width int) string {
	parts := ".masthead, .totals, .tools, .card, .name, .hold, .foot, .sources, .sources td, .sources th"
	if width > 600 {
		parts += ", .scroll"
	}
	return fmt.Sprintf(`[...document.querySelectorAll(%q)].filter((e) => e.scrollWidth > e.clientWidth + 1).map((e) => e.className).join()`, parts)
}

// checkLayout checks that no part is cut off at any width, and that no name or key became markup.
func checkLayout(t *testing.T, p *tab) {
	t.Helper()
	for _, scheme := range []string{"light", "dark"} {
		p.prefer(scheme)
		for _, width := range []int{1600, 1280, 1000, 800, 375} {
			p.fits(width)
			if got := evaluate[string](p, cutOff(width)); got != "" {
				t.Errorf("%s at %d px: %s is cut off", scheme, width, got)
			}
		}
	}
	if got := evaluate[int](p, `document.querySelectorAll("img").length`); got != 0 || evaluate[string](p, "document.title") == "owned" {
		t.Error("a name or a key became markup")
	}
}

func debug(t *testing.T) (page *statusz.Page, url string) {
	t.Helper()
	page = statusz.New()
	server := httptest.NewServer(http.StripPrefix("/any/where", page))
	t.Cleanup(func() {
		_ = page.Close()
		server.Close()
	})
	return page, server.URL + "/any/where"
}

// shedding creates a throttle whose backend rejects every call. Fallbacks serve them, if there are some.
func shedding(t *testing.T, page *statusz.Page, name string, calls int, fallbacks ...throttle.Fallback) {
	t.Helper()
	th := throttle.Must(throttle.New(throttle.Config{Name: name, Hooks: page.Hooks()}))
	for i := range calls {
		_ = th.Do(t.Context(), throttle.Priority(i%throttle.StandardPriorities), func(context.Context) error { return context.DeadlineExceeded }, fallbacks...)
	}
}

func TestStatusz_Throttles(t *testing.T) {
	p := newTab(t, 1200, 900)
	page, url := debug(t)
	p.open(url)
	p.eventually("an empty page says how to fill it", live+` && document.body.innerText.includes("page.Hooks()")`)

	shedding(t, page, "orders", 8000)
	p.eventually("a throttle appears by itself", `document.body.innerText.includes("orders")`)
	p.do("open its details", chromedp.Click(".card .more"))
	p.eventually("the details show the fault, and no controls",
		`/rejected\s*timeout/.test(document.querySelector(".details")?.textContent) && document.querySelector(".control") === null`)

	_ = page.Close()
	p.eventually("the page shows that it is disconnected", `document.querySelector("#state").textContent.startsWith("disconnected")`)
	p.open("about:blank") // so that the page does not reconnect
	p.clearProblems()     // the console has an error about the lost stream, as expected
}

// scripted serves the page with a stream of events that the test sends. Without one it sends comments.
func scripted(t *testing.T, page http.Handler) (url string, send func(kind, data string)) {
	t.Helper()
	events := make(chan string)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.FormValue("format") != "stream" {
			page.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for _ = http.NewResponseController(w).Flush(); ; _ = http.NewResponseController(w).Flush() {
			select {
			case e := <-events:
				_, _ = w.Write([]byte(e))
			case <-r.Context().Done():
				return
			}
		}
	}))
	t.Cleanup(server.Close)
	return server.URL, func(kind, data string) {
		t.Helper()
		select {
		case events <- "event: " + kind + "\ndata: " + strings.NewReplacer("\n", "", "\t", "").Replace(data) + "\n\n":
		case <-time.After(timeout):
			t.Fatal("the page reads no event")
		}
	}
}

// TestStatusz_Changes sends what a process says before and after its clock is set back by an hour.
func TestStatusz_Changes(t *testing.T) {
	p := newTab(t, 1200, 900)
	page, _ := debug(t)
	url, send := scripted(t, page)
	head := func(received, first, second string) string {
		member := `{"key": "%s", "probability": 0.5, "in_flight": 0, "window": {"accepted": 0, "rejected": 0, "shed": 1}}`
		return fmt.Sprintf(`"id": 1, "name": "orders", "policy": "sre", "mode": "enforce", "instances": 2, "ratio": 2, "minimum_rate": 1, "window_seconds": 60,
			"alert": "none", "priorities": ["high"], %s "slow": {"threshold_seconds": 0.0015, "gate": "enforce", "oldest_seconds": 0, "calls": [{"limit": 0}]},
			"members": [`+member+`, `+member+`]`, received, first, second)
	}
	p.open(url)
	p.eventually("without an event the page says what may be wrong", `document.querySelector("#state").textContent.includes("does a proxy buffer it?")`)
	figures := `0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, []`
	send("snapshot", `{"time": 2000000000000, "process": {"command": "shop", "host": "", "pid": 1, "go": "", "started": ""},
		"outcomes": [], "faults": [], "causes": ["own"], "times": [1999999999000, 2000000000000],
		"throttles": [{`+head(`"load_received": "overloaded",`, "a", "b")+`, "figures": [[`+figures+`]], "history": [[0, 0, 0, 0]], "samples": 2}],
		"sources": [{"id": 2, "kind": "bucket", "name": "b", "state": "", "level": "ok", "transitions": [],
			"figures": [{"name": "granted", "value": 12345, "unit": ""}, {"name": "delay", "value": 0.0014, "unit": "s"}]}]}`)
	p.eventually("the page has a row", live+` && document.querySelector(".card .lines tbody tr") !== null`)
	p.do("open its details", chromedp.Click(".card .more"))
	p.eventually("numbers are not rounded too much", `document.querySelector("#sources").textContent.includes("granted 12,345delay 0.0014 s") &&
		/slow1.5 ms/.test(document.querySelector(".details").textContent)`)
	shown := `[document.querySelector(".settings").textContent.includes("the backend says"), document.querySelector("#summary").textContent,
		...[...document.querySelectorAll(".members .c-key")].map((k) => k.textContent)].join()`
	p.eventually("the row is as it was", shown+` === "true,No throttle sheds calls.,a,b"`)
	send("sample", `{"time": 1999996400000, "rows": [{`+head("", "b", "a")+`}], "figures": [[1, 0, 0, 9`+figures[len("0, 0"):]+`]]}`)
	p.eventually("the row is as it is now", shown+` === "false,orders sheds calls.,b,a"`)
}

func TestStatusz_Layout(t *testing.T) {
	p := newTab(t, 1200, 900)
	page, url := debug(t)
	shedding(t, page, "orders", 8000)
	shedding(t, page, "searches", 80_000, func(context.Context, error, bool) error { return nil })
	for _, name := range []string{hostile, strings.Repeat("long", 63), "\u202ertl\x00"} {
		_ = throttle.Must(throttle.New(throttle.Config{Name: name, Hooks: page.Hooks()}))
	}
	page.Add(statusz.SourceFunc(func() statusz.Status {
		return statusz.Status{Kind: "breaker", Name: hostile, State: "open", Level: statusz.Bad}
	}))
	page.Add(statusz.SourceFunc(func() statusz.Status {
		return statusz.Status{Kind: strings.Repeat("kind", 20), Name: strings.Repeat("name", 50), State: strings.Repeat("state", 20), Level: statusz.Bad}
	}))
	p.open(url)
	p.eventually("all rows are drawn", live+` && document.querySelectorAll(".card .lines tbody tr").length >= 8 &&
		document.querySelector("#sources tbody tr") !== null`)
	p.do("open the details of all", chromedp.Evaluate[chromedp.Void](`document.querySelectorAll(".card .more").forEach((b) => b.click())`))
	checkLayout(t, p)
}

func TestStatusz_Group(t *testing.T) {
	p := newTab(t, 1200, 900)
	page, url := debug(t)
	group := throttle.Must(throttle.NewGroup(func(string) throttle.Config {
		return throttle.Config{Name: "hosts", Hooks: page.Hooks()}
	}, throttle.GroupConfig{}))
	for i := range 50 {
		throttle.Must(group.Get(fmt.Sprintf("host-%02d", i)))
	}
	sick := throttle.Must(group.Get(hostile))
	for range 200 {
		_ = sick.Do(t.Context(), throttle.Low, func(context.Context) error { return context.DeadlineExceeded })
	}
	p.open(url)
	keys := `[...document.querySelectorAll(".members .c-key")].map((k) => k.textContent)`
	p.eventually("the card lists the member that sheds",
		live+` && JSON.stringify(`+keys+`) === JSON.stringify([`+fmt.Sprintf("%q", hostile)+`])`)
	p.eventually("and the number of others", `document.querySelector(".members").textContent.includes("and 50 more without shed calls")`)
	p.do("open the details", chromedp.Click(".card .more"))
	p.eventually("the details list ten members", keys+`.length === 10 && `+keys+`[1] === "host-00" &&
		document.querySelector(".members").textContent.includes("and 41 more")`)
	checkLayout(t, p)
}

func TestStatusz_Keyboard(t *testing.T) {
	p := newTab(t, 1200, 900)
	page, url := debug(t)
	shedding(t, page, "orders", 8000)
	_ = throttle.Must(throttle.New(throttle.Config{Name: hostile, Hooks: page.Hooks()}))
	p.open(url + "?q=orders&sort=name")
	p.eventually("the address says what to look at", live+` && document.querySelectorAll(".card:not([hidden])").length === 1`)
	p.do("press /", chromedp.KeyEvent("/"))
	p.eventually("/ goes to the search", `document.activeElement.id === "search"`)
	evaluate[string](p, `document.querySelector("#search").value = ""`)
	p.do("search", chromedp.SendKeys("#search", "onerror"))
	p.eventually("only what is searched for is left",
		`[...document.querySelectorAll(".card:not([hidden]) h2")].map((h) => h.textContent).join() === `+fmt.Sprintf("%q", hostile))
}
