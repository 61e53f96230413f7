package control_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/backoff"
	"github.com/spillway-go/spillway/throttle/breaker"
	"github.com/spillway-go/spillway/throttle/bucket"
	"github.com/spillway-go/spillway/throttle/control"
	"github.com/spillway-go/spillway/throttle/retry"
	"github.com/spillway-go/spillway/throttle/statusz"
	"github.com/spillway-go/spillway/throttle/statusz/sources"
)

// guide is the code of docs/changing-settings.md.
func guide(ctx context.Context, logger *slog.Logger, page *statusz.Page, path string) (*control.Control, error) {
	ctl := throttle.Must(control.New(control.Config{
		Hooks: control.JoinHooks(control.DefaultHooks(), control.LogHooks(logger)), // DefaultHooks are those of otelthrottle.Install
	}))
	ctl.AddDefaultHooks() // after otelthrottle.Install and SetDefaultHooks, which replace them; before throttles are made

	stock := throttle.Must(throttle.New(throttle.Config{Name: "stock", Mode: throttle.ModeShadow}))

	if err := ctl.Watch(ctx, path); err != nil { // after throttles and clients are made
		return nil, err
	}
	handler, err := ctl.Handler(authorize)
	if err != nil {
		return nil, err
	}
	page.Control(handler)          // /debug/throttle?format=control, and fields on the page
	page.Add(sources.Control(ctl)) // what is overridden, by whom and why
	_ = stock
	return ctl, nil
}

// fleetGuide is the code of docs/fleet-settings.md.
func fleetGuide(ctx context.Context, logger *slog.Logger, service, cluster string) (*control.Control, error) {
	ctl, err := control.New(control.Config{
		Labels: map[string]string{"service": service, "cluster": cluster},
		Hooks:  control.JoinHooks(control.DefaultHooks(), control.LogHooks(logger)),
	})
	if err != nil {
		return nil, err
	}
	err = ctl.WatchFunc(ctx, "the fleet's settings", 0, control.ReadURL(nil, "https://config.example.com/control.json"))
	return ctl, err
}

// TestFleetGuide makes a control although the address does not answer.
func TestFleetGuide(t *testing.T) {
	ctx, end := context.WithTimeout(t.Context(), time.Millisecond)
	defer end()
	ctl, err := fleetGuide(ctx, slog.New(slog.DiscardHandler), "shop", "eu")
	if err != nil {
		t.Fatal(err)
	}
	_ = ctl.Close()
}

// authorize returns the operator that a proxy before this port has authenticated.
func authorize(r *http.Request) (who string, err error) {
	if who := r.Header.Get("X-Forwarded-Email"); strings.HasSuffix(who, "@example.com") {
		return who, nil
	}
	return "", errors.New("not an operator")
}

// TestGuide runs the code of docs/changing-settings.md: a file sets the mode, and an operator is above it.
func TestGuide(t *testing.T) {
	t.Cleanup(func() {
		throttle.SetDefaultHooks(throttle.Hooks{})
		breaker.SetDefaultHooks(breaker.Hooks{})
		bucket.SetDefaultHooks(bucket.Hooks{})
		backoff.SetDefaultHooks(backoff.Hooks{})
		retry.SetDefaultHooks(retry.Hooks{})
	})
	var stock *throttle.Throttle
	throttle.SetDefaultHooks(throttle.Hooks{Created: func(th *throttle.Throttle) { stock = th }})
	page, path := statusz.New(), filepath.Join(t.TempDir(), "control.json")
	defer page.Close()
	write(t, path, `{"throttles": {"stock": {"mode": "enforce"}}}`)
	logger := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	ctl, err := guide(t.Context(), logger, page, path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ctl.Close() })
	_ = throttle.Must(retry.New(retry.Config{Name: "orders"})).Close()
	_ = throttle.Must(retry.New(retry.Config{Name: "payments"}))
	if all := ctl.Status().Things; all[len(all)-1].Kind != "retry" || all[len(all)-1].Name != "payments" {
		t.Errorf("by default: got %+v want the retrier that is open at the end", all)
	}
	equal(t, "mode by file", stock.Stats().Mode, throttle.ModeEnforce)
	for who, code := range map[string]int{"ana@example.com": 200, "eve@evil.example": 403} {
		r := httptest.NewRequest("POST", "/debug/throttle?format=control", strings.NewReader(off))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("X-Forwarded-Email", who)
		w := httptest.NewRecorder()
		if page.ServeHTTP(w, r); w.Code != code {
			t.Errorf("%s: got %d %s", who, w.Code, w.Body)
		}
	}
	equal(t, "mode by http", stock.Stats().Mode, throttle.ModeOff)
}
