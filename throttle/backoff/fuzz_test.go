package backoff_test

import (
	"bytes"
	"context"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle/backoff"
)

// FuzzConfig wants an error that names a field, or a Responsive that stays within its limits.
func FuzzConfig(f *testing.F) {
	f.Add("x", uint8(0), int64(0), int64(0), 0.0, 0.0, 0, 0.0, int64(0), int64(0))
	f.Add("x", uint8(1), int64(time.Millisecond), int64(time.Hour), 1.5, 0.6, 5, -1.0, int64(time.Minute), int64(-1))
	f.Add("", uint8(7), int64(-1), int64(math.MinInt64), math.NaN(), math.Inf(1), -1, 2.0, int64(-1), int64(1))
	f.Add("x", uint8(0), int64(math.MaxInt64), int64(math.MaxInt64), 1.0, 1.0, math.MaxInt, math.NaN(), int64(math.MaxInt64), int64(math.MaxInt64))
	f.Add("x", uint8(0), int64(1000), int64(1000), 100.0, 1e-300, 1, 1.0, int64(1), int64(1))
	f.Fuzz(func(t *testing.T, name string, mode uint8, initial, longest int64, up, down float64, threshold int, factor float64, noise, idle int64) {
		c := backoff.Config{
			Name: name, Mode: backoff.Mode(mode), InitialInterval: time.Duration(initial), MaxInterval: time.Duration(longest),
			UpMultiplier: up, DownMultiplier: down, DownMultiplierThreshold: threshold, RandomizationFactor: factor,
			MaxRandomization: time.Duration(noise), IdleReset: time.Duration(idle),
		}
		r, err := backoff.New(c)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "backoff: Config.") || !strings.Contains(err.Error(), ": want ") || r != nil {
				t.Fatalf("got %v, %v want the fields and their ranges", r, err)
			}
			return
		}
		play(t, c, []byte{2, 2, 2, 1, 1, 1, 2, 6, 1, 5, 2, 3, 2, 2, 1, 4, 2})
	})
}

// FuzzCalls plays sequences of calls, a byte each, and checks the invariants after each.
func FuzzCalls(f *testing.F) {
	f.Add(uint8(0), []byte{2, 2, 2, 1, 1, 1, 1, 1, 1})
	f.Add(uint8(1), []byte{2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15})
	f.Add(uint8(0), []byte{10, 10, 1, 1, 1, 7, 9, 2, 8, 8, 2, 0, 0, 0, 12, 2, 13, 2})
	f.Add(uint8(0), bytes.Repeat([]byte{7}, 100))
	f.Add(uint8(0), []byte{11, 11, 11, 1, 1, 6, 6, 2, 2, 15, 14, 1, 2})
	f.Fuzz(func(t *testing.T, mode uint8, calls []byte) {
		if len(calls) > 200 {
			return
		}
		c := backoff.Config{Name: "x", Mode: backoff.Mode(mode % 2), DownMultiplierThreshold: 2, DownMultiplier: 0.7, UpMultiplier: 3, InitialInterval: time.Second}
		play(t, c, calls)
	})
}

func play(t *testing.T, c backoff.Config, calls []byte) {
	bounds := func(t *testing.T, most time.Duration, before, s backoff.Stats) {
		t.Helper()
		if s.Delay != 0 && (s.Delay < max(c.InitialInterval, time.Microsecond) || s.Delay > most) {
			t.Fatalf("got a delay of %v want 0 or within InitialInterval %v and MaxInterval %v", s.Delay, c.InitialInterval, most)
		}
		if s.Ups < before.Ups || s.Downs < before.Downs || s.SleepTime < before.SleepTime || s.Waiting < 0 {
			t.Fatalf("got %+v after %+v want nothing less than before, and no less than none sleeping", s, before)
		}
		if s.Ups > s.Throttled {
			t.Fatalf("got %+v want at most a step up for each throttled call", s)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		r := backoff.Must(backoff.New(c))
		tuning, _ := r.Tuning()
		most, b := tuning.MaxInterval, r.BackOff()
		var permits []backoff.Permit
		var before backoff.Stats
		recorded, waited := uint64(0), uint64(0)
		for _, call := range calls {
			recorded += do(t, r, most, b, call, &permits, &waited)
			synctest.Wait()
			s := r.Stats()
			bounds(t, most, before, s)
			if s.Successes+s.Throttled+s.Ignored != recorded || s.Waiting != 0 || s.Slept+s.Canceled > waited {
				t.Fatalf("got %+v want %d calls recorded, at most %d waits, none left", s, recorded, waited)
			}
			before = s
		}
		_ = r.Close()
	})
}

// do makes one call of a sequence. It returns the number of outcomes that it recorded.
func do(t *testing.T, r *backoff.Responsive, most time.Duration, b *backoff.BackOff, call byte, permits *[]backoff.Permit, waited *uint64) uint64 {
	outcomes := []backoff.Outcome{backoff.Ignored, backoff.Success, backoff.Throttled, backoff.ThrottledFor(time.Minute), -7}
	switch n := int(call % 16); n {
	case 0, 1, 2, 3, 4:
		*waited++
		wait(t, r).Finish(outcomes[n])
		return 1
	case 5:
		*waited++
		_ = r.SleepOnFailure(t.Context())
		return 1
	case 6:
		*waited++
		_ = r.SleepOnSuccess(t.Context())
		return 1
	case 7:
		if d := b.NextBackOff(); d < 0 || d > most {
			t.Fatalf("NextBackOff: got %v want 0 to MaxInterval, %v", d, most)
		}
		return 1
	case 8:
		b.Succeeded()
		return 1
	case 9:
		b.Reset()
	case 10:
		*waited++
		*permits = append(*permits, wait(t, r))
	case 11, 12, 13:
		if len(*permits) > 0 {
			p := (*permits)[0]
			*permits = (*permits)[1:]
			p.Finish(outcomes[n-10])
			p.Finish(backoff.Throttled)
			return 1
		}
	case 14:
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		*waited++
		_, _ = r.Wait(ctx)
	case 15:
		r.Reset()
		time.Sleep(time.Minute)
	}
	return 0
}
