//go:build !race

package throttle

import (
	"context"
	"errors"
	"testing"
	"time"
)

const callsPerRun = 64 // AllocsPerRun rounds down

// TestLocal_allocations counts those of calls that this process serves while it sheds those of Low.
func TestLocal_allocations(t *testing.T) {
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

// TestThrottle_ReceiveLoad_allocations counts those of reports, and of calls while they are received.
func TestThrottle_ReceiveLoad_allocations(t *testing.T) {
	for name, r := range map[string]LoadReport{"calm": {}, "overloaded": sheddingLow()} {
		l := newLab(t, 1, Config{Policy: SRE})
		l.receive(10*time.Second, r, 0.8)
		before := l.Stats().Priorities[Low].Shed.Count(CauseTold)
		allocations := testing.AllocsPerRun(100, func() {
			for range callsPerRun {
				l.now = l.now.Add(10 * time.Millisecond)
				_ = l.Do(context.Background(), Low, nothing)
				l.ReceiveLoad(r)
				_, _ = l.LoadReport()
			}
		})
		wantSame(t, name+": allocations", allocations, 0)
		wantSame(t, name+": shed", l.Stats().Priorities[Low].Shed.Count(CauseTold) > before, r.Overloaded)
	}
}
