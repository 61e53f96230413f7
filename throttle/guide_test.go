package throttle_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime/trace"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/statusz"
)

// The code of docs/operating.md, docs/changing-settings.md, docs/sre-or-tiered.md, docs/coming-from.md and dashboards/runbooks.md, and the tests that run it.

// switchTo puts a throttle into the mode of which the settings of a service have the word.
func switchTo(th *throttle.Throttle, word string) error {
	var mode throttle.Mode
	if err := mode.UnmarshalText([]byte(word)); err != nil { // enforce, shadow or off
		return err
	}
	return th.Tune(throttle.Patch{Mode: &mode})
}

// turned are the lines of the runbooks that turn a throttle.
func turned(th *throttle.Throttle) []func() error {
	return []func() error{
		func() error {
			err := th.Tune(throttle.Patch{Mode: new(throttle.ModeOff)}) // the kill switch: sends all calls and still counts
			return err
		},
		func() error {
			err := th.Tune(throttle.Patch{Mode: new(throttle.ModeShadow)}) // sends all calls and reports those it would have shed
			return err
		},
		func() error {
			err := th.Tune(throttle.Patch{Ratio: new(3.0), MinimumRate: new(10.0)}) // sheds later; lets more probes through
			return err
		},
		func() error {
			err := th.Tune(throttle.Patch{Slow: new(throttle.Duration(300 * time.Millisecond))}) // calls are late after that time
			return err
		},
		func() error {
			err := th.Tune(throttle.Patch{SlowGate: new(throttle.ModeOff)}) // sheds no calls because others are late
			return err
		},
	}
}

// operators is the server that only operators reach.
func operators(page *statusz.Page, metrics http.Handler) *http.Server {
	internal := http.NewServeMux()
	internal.Handle("/debug/throttle", page)
	internal.Handle("/metrics", metrics)
	server := &http.Server{
		Addr: ":9464", Handler: internal, // a port that is not reachable from outside
		ReadHeaderTimeout: 5 * time.Second,
	}
	return server
}

// errTenantQuota and errFull are two things that a backend may answer.
var (
	errTenantQuota = errors.New("your account has used up its quota")
	errFull        = errors.New("no room")
)

// sorted is a throttle that knows which rejections are about capacity.
func sorted() *throttle.Throttle {
	th := throttle.Must(throttle.New(throttle.Config{
		Name: "recommendations",
		Classify: throttle.AcceptIf(func(err error) bool {
			return errors.Is(err, errTenantQuota) // only this tenant is over its quota: the backend has capacity
		}),
	}))
	return th
}

// forgive sets the share of the calls that fail for other reasons than load.
func forgive(th *throttle.Throttle) error {
	err := th.Tune(throttle.Patch{Background: new(0.2)})
	return err
}

// asked is what becomes of failsafe-go's adaptive throttler.
func asked(ctx context.Context, ask func(context.Context) (string, error)) (string, error) {
	th := throttle.Must(throttle.New(throttle.Config{
		Name:     "answers",
		Classify: throttle.OverloadIf(func(err error) bool { return errors.Is(err, errFull) }),
	}))
	answer, err := throttle.Do(ctx, th, throttle.Medium, ask)
	if errors.Is(err, throttle.ErrShed) {
		return "", err // it was not sent
	}
	return answer, err
}

func TestModesBySettings(t *testing.T) {
	th := struggling(throttle.Config{Mode: throttle.ModeShadow})
	for _, want := range []throttle.Mode{throttle.ModeEnforce, throttle.ModeOff, throttle.ModeShadow} {
		if err := switchTo(th, want.String()); err != nil || th.Stats().Mode != want {
			t.Errorf("%v: got %v, error %v", want, th.Stats().Mode, err)
		}
	}
	if err := switchTo(th, "on"); err == nil || th.Stats().Mode != throttle.ModeShadow {
		t.Errorf("a word that is none: got %v, error %v want an error and no change", th.Stats().Mode, err)
	}
}

func TestForgive(t *testing.T) {
	th := sorted()
	if err := forgive(th); err != nil || th.Stats().State.Background != 0.2 {
		t.Errorf("got %+v and error %v want a background of 0.2", th.Stats().State, err)
	}
}

func TestTheRunbooksTurns(t *testing.T) {
	th := struggling(throttle.Config{})
	want := []throttle.Tuning{
		{Ratio: 2, MinimumRate: 1, Mode: throttle.ModeOff},
		{Ratio: 2, MinimumRate: 1, Mode: throttle.ModeShadow},
		{Ratio: 3, MinimumRate: 10, Mode: throttle.ModeShadow},
		{Ratio: 3, MinimumRate: 10, Mode: throttle.ModeShadow, Slow: 300 * time.Millisecond},
		{Ratio: 3, MinimumRate: 10, Mode: throttle.ModeShadow, Slow: 300 * time.Millisecond, SlowGate: throttle.ModeOff},
	}
	for i, turn := range turned(th) {
		err := turn()
		s := th.Stats()
		if got := (throttle.Tuning{Ratio: s.Ratio, MinimumRate: s.MinimumRate, Mode: s.Mode, Slow: s.Slow.Slow, SlowGate: s.Slow.Gate}); err != nil || got != want[i] {
			t.Errorf("turn %d: got %+v, error %v want %+v", i, got, err, want[i])
		}
	}
}

func TestTheServerOfOperators(t *testing.T) {
	page := statusz.New()
	defer page.Close()
	server := operators(page, http.NotFoundHandler())
	for path, want := range map[string]int{"/debug/throttle?format=json": http.StatusOK, "/metrics": http.StatusNotFound, "/": http.StatusNotFound} {
		w := httptest.NewRecorder()
		server.Handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		if w.Code != want {
			t.Errorf("%s: got %d want %d", path, w.Code, want)
		}
	}
}

func TestAQuotaOfOneTenantIsNoOverload(t *testing.T) {
	th := sorted()
	for _, err := range []error{errTenantQuota, context.DeadlineExceeded} {
		_ = th.Do(ctx, throttle.Low, func(context.Context) error { return fmt.Errorf("ask: %w", err) })
	}
	if w := th.Stats().Priorities[throttle.Low].Window; w.Accepted != 1 || w.Rejected != 1 {
		t.Errorf("got %+v want one accepted and one rejected", w)
	}
}

func TestAnAnswerOrAnError(t *testing.T) {
	for want, err := range map[string]error{"yes": nil, "": errFull} {
		got, e := asked(ctx, func(context.Context) (string, error) { return want, err })
		if got != want || !errors.Is(e, err) {
			t.Errorf("got %q, error %v want %q, error %v", got, e, want, err)
		}
	}
}

// recordOnShed and writeTrace are the hook of docs/operating.md that keeps an execution trace.
func recordOnShed(file string, recorder *trace.FlightRecorder) throttle.Hooks {
	var last atomic.Int64 // when it was written, in Unix seconds
	return throttle.Hooks{Shed: func(context.Context, throttle.ShedEvent) {
		now, before := time.Now().Unix(), last.Load()
		if now-before < 600 || !last.CompareAndSwap(before, now) {
			return
		}
		go func() { // a hook must not block
			if err := writeTrace(file, recorder); err != nil {
				slog.Warn("the execution trace of shedding is not written", "error", err)
			}
		}()
	}}
}

func writeTrace(file string, recorder *trace.FlightRecorder) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	_, err = recorder.WriteTo(f)
	return errors.Join(err, f.Close())
}

func startRecorder() (*trace.FlightRecorder, error) {
	recorder := trace.NewFlightRecorder(trace.FlightRecorderConfig{MinAge: 5 * time.Second, MaxBytes: 10 << 20})
	if err := recorder.Start(); err != nil {
		return nil, err
	}
	return recorder, nil
}

// TestRecordOnShed writes one trace for many shed calls.
func TestRecordOnShed(t *testing.T) {
	recorder, err := startRecorder()
	if err != nil {
		t.Fatal(err)
	}
	defer recorder.Stop()
	file := filepath.Join(t.TempDir(), "shed.trace")
	th := throttle.Must(throttle.New(throttle.Config{Name: "stock", Hooks: recordOnShed(file, recorder)}))
	for range 200 {
		_ = th.Do(t.Context(), throttle.Low, func(context.Context) error { return context.DeadlineExceeded })
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if info, err := os.Stat(file); err == nil && info.Size() > 1000 {
			if _, err := recorder.WriteTo(io.Discard); err == nil { // the hook has written all, so that Stop can run
				return
			}
		}
		if time.Now().After(end) {
			t.Fatal("got no trace")
		}
	}
}
