//go:build !race

package throttle

import (
	"context"
	"testing"
	"time"
)

// TestThrottle_ReceiveLoad_allocations counts those of reports, and of calls while they are received.
func TestThrottle_ReceiveLoad_allocations(t *testing.T) {
	const callsPerRun = 64 // AllocsPerRun rounds down
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
