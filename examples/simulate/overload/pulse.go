package overload

import (
	"context"
	"time"
)

const (
	beatsPerLook  = 4096 // calls between two looks whether the run is to go on
	progressLeast = 0.01 // of a run between two reports of progress
)

// pulse lets a long run be watched and ended from outside.
type pulse struct {
	ctx      context.Context
	progress func(done float64)
	whole    time.Duration // of all cases
	passed   time.Duration // in the phases that are over
	told     float64
	beats    int
}

// newPulse returns the pulse of a run.
func newPulse(ctx context.Context, cases []Case, progress func(done float64)) *pulse {
	u := &pulse{ctx: ctx, progress: progress}
	for i := range cases {
		for k := range cases[i].Phases {
			u.whole += cases[i].Phases[k].Length
		}
	}
	return u
}

// beat notes a call, so long after the phase began. Its error is the context's.
func (u *pulse) beat(phase time.Duration) error {
	if u.beats++; u.beats%beatsPerLook != 0 {
		return nil
	}
	return u.look(u.passed + phase)
}

// pass notes the end of a phase.
func (u *pulse) pass(phase time.Duration) error {
	u.passed += phase
	return u.look(u.passed)
}

func (u *pulse) look(passed time.Duration) error {
	if err := u.ctx.Err(); err != nil {
		return err
	}
	done := float64(passed) / float64(u.whole)
	if u.progress != nil && (done >= u.told+progressLeast || done == 1 && u.told < 1) {
		u.told = done
		u.progress(done)
	}
	return nil
}
