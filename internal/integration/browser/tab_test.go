package browser

import (
	"context"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/spillway-go/spillway/internal/integration/program"
)

// timeout limits the wait for a page. It is long because the machines are shared.
const timeout = 2 * time.Minute

// redrawTime is the wait for a page to redraw before a screenshot.
const redrawTime = 2 * time.Second

// tab is a page in its own browser.
type tab struct {
	t   *testing.T
	ctx context.Context

	close context.CancelFunc

	mu       sync.Mutex
	problems []string // errors on the console of the page
}

// newTab opens an empty page of a size. The test fails if there are errors on the console at its end.
func newTab(t *testing.T, width, height int) *tab {
	t.Helper()
	path := program.Find(t, "chromium", "chromium", "chromium-browser", "google-chrome")
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path),
		chromedp.DisableGPU,
		chromedp.WSURLReadTimeout(timeout),
		chromedp.UserDataDir(t.TempDir()),
		chromedp.WindowSize(width, height),
		chromedp.Flag("disable-background-networking", true),
	)
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox) // in a container there is no other user
	}
	allocator, stopBrowser := chromedp.NewExecAllocator(t.Context(), options...)
	ctx, closeTab := chromedp.NewContext(allocator)
	p := &tab{t: t, ctx: ctx, close: closeTab}
	p.do("start "+path, chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, log.Enable, cdp.Empty{})
		return err
	}))
	if err := chromedp.Listen(ctx, p.listen); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		closeTab()
		stopBrowser()
		p.mu.Lock()
		defer p.mu.Unlock()
		if len(p.problems) > 0 {
			t.Errorf("the page complained:\n%s", strings.Join(p.problems, "\n"))
		}
	})
	return p
}

func (p *tab) listen(event any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		p.problems = append(p.problems, e.ExceptionDetails.Text+" "+e.ExceptionDetails.Exception.Description)
	case *runtime.EventConsoleAPICalled:
		if e.Type == "error" || e.Type == "warning" {
			var words []string
			for _, a := range e.Args {
				words = append(words, string(a.Value))
			}
			p.problems = append(p.problems, strings.Join(words, " "))
		}
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError {
			p.problems = append(p.problems, e.Entry.Text+" "+e.Entry.URL)
		}
	}
}

func (p *tab) do(what string, actions ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	giveUp := time.AfterFunc(timeout, func() { p.t.Errorf("%s: not within %v", what, timeout); p.close() })
	defer giveUp.Stop()
	if err := chromedp.Do(p.ctx, actions...); err != nil {
		p.t.Fatalf("%s: %v", what, err)
	}
}

func (p *tab) open(url string) {
	p.t.Helper()
	p.do("open "+url, chromedp.Navigate(url))
}

func (p *tab) prefer(scheme string) {
	p.t.Helper()
	p.do("prefer "+scheme, chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
		})
		return err
	}))
}

func evaluate[T any](p *tab, expression string) T {
	p.t.Helper()
	value, err := chromedp.Run(p.ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		p.t.Fatalf("%s: %v", expression, err)
	}
	return value
}

// eventually waits until a condition on the page is true. If it never is, the test fails with the text of
// the page.
func (p *tab) eventually(what, condition string) {
	p.t.Helper()
	deadline := time.Now().Add(timeout)
	for !evaluate[bool](p, condition) {
		if time.Now().After(deadline) {
			p.t.Fatalf("%s: not within %v: the page says\n%s", what, timeout, evaluate[string](p, "document.body.innerText"))
		}
		p.do("wait", chromedp.Sleep(100*time.Millisecond))
	}
}

// fits fails if the page is wider than width.
func (p *tab) fits(width int) {
	p.t.Helper()
	p.do("resize", chromedp.EmulateViewport(int64(width), 900))
	if got := evaluate[int](p, "document.documentElement.scrollWidth"); got > width {
		p.t.Errorf("at %d px the page is %d px wide", width, got)
	}
}

// fitsEverywhere checks the width of the page in light and in dark mode, on screens of many sizes.
func (p *tab) fitsEverywhere() {
	p.t.Helper()
	for _, scheme := range []string{"light", "dark"} {
		p.prefer(scheme)
		for _, width := range []int{1600, 1024, 768, 375} {
			p.fits(width)
		}
	}
}

func (p *tab) clearProblems() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.problems = nil
}
