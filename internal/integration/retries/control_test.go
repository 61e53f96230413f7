package retries

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/spillway-go/spillway/internal/integration/program"
	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/control"
	"github.com/spillway-go/spillway/throttle/httpthrottle"
	"github.com/spillway-go/spillway/throttle/retry"
)

// runClient makes calls that are retried, until it is interrupted. A control file changes its settings.
func runClient(address, path string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctl := throttle.Must(control.New(control.Config{}))
	ctl.AddDefaultHooks()
	transport := throttle.Must(httpthrottle.NewTransport(nil, httpthrottle.TransportConfig{
		Throttle: throttle.Config{Name: "backend", Mode: throttle.ModeOff}, Retry: &retry.Config{},
	}))
	if err := ctl.Watch(ctx, path); err != nil {
		return err
	}
	client := &http.Client{Transport: transport}
	for tick := time.NewTicker(time.Second / ratePerSecond); ctx.Err() == nil; <-tick.C {
		response, err := client.Get("http://" + address)
		if err != nil {
			continue // the backend may be down
		}
		_, _ = io.Copy(io.Discard, response.Body)
		_ = response.Body.Close()
	}
	os.Exit(0)
	return nil
}

// TestAFileStopsRetries of a client that runs, and of one that starts with it. When its line is gone, they go on.
func TestAFileStopsRetries(t *testing.T) {
	b, path := newBackend(t, "http"), filepath.Join(t.TempDir(), "control.json")
	write := func(document string) {
		t.Helper()
		next := path + ".next"
		if err := os.WriteFile(next, []byte(document), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(next, path); err != nil {
			t.Fatal(err)
		}
	}
	const off = `{"retries": {"backend": {"mode": "off", "reason": "INC-7"}}}`
	write(`{}`)
	client := program.Start(t, os.Args[0], asClient, b.address, path)
	b.awaitRetries(t, "the settings of the code", true)
	write(off)
	b.awaitRetries(t, "the file stops retries", false)
	write(`{}`)
	b.awaitRetries(t, "the line is gone", true)
	write(off)
	client.Kill(t)
	program.Start(t, os.Args[0], asClient, b.address, path)
	b.awaitRetries(t, "a new process", false)
}

// awaitRetries waits until some of the last 200 requests were retries, or none was.
func (b *backend) awaitRetries(t *testing.T, when string, want bool) {
	t.Helper()
	begin := time.Now()
	requests, retries := b.arrivals(t)
	program.Eventually(t, when, func() string {
		nowRequests, nowRetries := b.arrivals(t)
		made, retried := nowRequests-requests, nowRetries-retries
		if made < 10*oneIn {
			return fmt.Sprintf("%d requests", made)
		}
		requests, retries = nowRequests, nowRetries
		if (retried > 0) != want {
			return fmt.Sprintf("%d of %d requests are retries", retried, made)
		}
		t.Logf("%s: %d of %d requests are retries, after %v", when, retried, made, time.Since(begin))
		return ""
	})
}
