//go:build !race

package throttle

import (
	"context"
	"errors"
	"testing"
)

// TestLocal_allocations counts those of calls that this process serves while it sheds those of Low.
func TestLocal_allocations(t *testing.T) {
	const callsPerRun = 64 // AllocsPerRun rounds down
	for name, shadow := range map[string]bool{"enforce": false, "shadow": true} {
		mode := ModeEnforce
		if shadow {
			mode = ModeShadow
		}
		th := Must(New(Config{Name: "shop", Mode: mode}))
		overloaded(t, th, shadow)
		for _, p := range []Priority{High, Low} {
			for phases, run := range map[string]func() error{
				"DoLocal": func() error { return th.DoLocal(context.Background(), p, nothing) },
				"AdmitLocal": func() error {
					call, err := th.AdmitLocal(context.Background(), p)
					call.Done(nil)
					return err
				},
			} {
				var err error
				allocations := testing.AllocsPerRun(100, func() {
					for range callsPerRun {
						err = run()
					}
				})
				what := name + ", " + p.String() + ", " + phases
				wantSame(t, what+": allocations", allocations, 0)
				wantSame(t, what+": shed", errors.Is(err, ErrShed), p == Low && !shadow)
			}
		}
		wantSame(t, name+": would shed", th.Stats().Priorities[Low].ShadowShed.Cause(CauseProcessor).Sum() > 0, shadow)
	}
}
