package throttle_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/statusz"
)

// The code of docs/operating.md, docs/sre-or-tiered.md, docs/coming-from.md and dashboards/runbooks.md, and the tests that run it.

// switchTo puts a throttle into the mode of which the settings of a service have the word.
func switchTo(th *throttle.Throttle, word string) error {
	var mode throttle.Mode
	if err := mode.UnmarshalText([]byte(word)); err != nil { // enforce, shadow or off
		return err
	}
	return th.Tune(func(t *throttle.Tuning) { t.Mode = mode })
}

// turned are the lines of the runbooks that turn a throttle.
func turned(th *throttle.Throttle) []func() error {
	return []func() error{
		func() error {
			err := th.Tune(func(t *throttle.Tuning) { t.Mode = throttle.ModeOff }) // the kill switch: sends all calls and still counts
			return err
		},
		func() error {
			err := th.Tune(func(t *throttle.Tuning) { t.Mode = throttle.ModeShadow }) // sends all calls and reports those it would have shed
			return err
		},
		func() error {
			err := th.Tune(func(t *throttle.Tuning) { t.Ratio, t.MinimumRate = 3, 10 }) // sheds later; lets more probes through
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
		Name:   "recommendations",
		Policy: throttle.Tiered,
		Classify: throttle.AcceptIf(func(err error) bool {
			return errors.Is(err, errTenantQuota) // only this tenant is over its quota: the backend has capacity
		}),
	}))
	return th
}

// asked is what becomes of failsafe-go's adaptive throttler.
func asked(ctx context.Context, ask func(context.Context) (string, error)) (string, error) {
	th := throttle.Must(throttle.New(throttle.Config{
		Name:     "answers",
		Classify: throttle.RejectIf(func(err error) bool { return errors.Is(err, errFull) }),
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

func TestTheRunbooksTurns(t *testing.T) {
	th := struggling(throttle.Config{})
	want := []throttle.Tuning{
		{Ratio: 2, MinimumRate: 1, Mode: throttle.ModeOff},
		{Ratio: 2, MinimumRate: 1, Mode: throttle.ModeShadow},
		{Ratio: 3, MinimumRate: 10, Mode: throttle.ModeShadow},
	}
	for i, turn := range turned(th) {
		err := turn()
		s := th.Stats()
		if got := (throttle.Tuning{Ratio: s.Ratio, MinimumRate: s.MinimumRate, Mode: s.Mode}); err != nil || got != want[i] {
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
