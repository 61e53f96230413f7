package sources

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/retry"
	"github.com/spillway-go/spillway/throttle/statusz"
)

func TestRetry_states(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := throttle.Must(retry.New(retry.Config{Name: "orders", Attempts: 2}))
		source := Retry(r)
		want := func(state string, level statusz.Level) {
			t.Helper()
			if got := source.Status(); got.State != state || got.Level != level || got.Kind != "retry" || got.Name != "orders" {
				t.Errorf("got %+v want %s, %v", got, state, level)
			}
		}
		reject := func(context.Context) error { return throttle.MarkRejected(errors.New("busy")) }
		want("unknown", statusz.OK)
		time.Sleep(time.Second)
		want("idle", statusz.OK)
		_ = r.Do(t.Context(), throttle.High, reject)
		time.Sleep(time.Second)
		want("retrying", statusz.OK)
		for range 3 {
			_ = r.Do(t.Context(), throttle.High, reject)
		}
		want("budget empty", statusz.Warn)
		figures := source.Status().Figures
		if figures[0].Value != 0 || figures[2].Value != 3 || figures[3].Name != "denied: budget" || figures[3].Value != 1 {
			t.Errorf("got %+v want an empty budget, three retries, one denied", figures)
		}
		time.Sleep(time.Minute)
		_ = source.Status()
		time.Sleep(time.Second)
		want("idle", statusz.OK)
		if err := r.Tune(retry.Patch{Mode: new(throttle.ModeOff)}); err != nil {
			t.Fatal(err)
		}
		want("off", statusz.Warn)
	})
}
