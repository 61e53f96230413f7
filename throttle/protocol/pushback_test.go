package protocol_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/deixis/faults"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/protocol"
)

// refusal is the error of a breaker for a call that was not made.
type refusal struct{ after time.Duration }

func (refusal) Error() string               { return "not now" }
func (refusal) Is(target error) bool        { return target == throttle.ErrShed }
func (r refusal) RetryAfter() time.Duration { return r.after }

func TestDelay(t *testing.T) {
	for _, c := range []struct {
		err  error
		want time.Duration
	}{
		{nil, 0},
		{errors.New("plain"), 0},
		{faults.ResourceExhausted(), 0},
		{faults.Unavailable(time.Minute), time.Minute},
		{faults.Unavailable(-time.Minute), 0},
		{faults.Unavailable(1 << 62), time.Hour},
		{(*faults.AvailabilityFailure)(nil), 0},
		{fmt.Errorf("calling: %w", &throttle.ShedError{Throttle: "orders"}), time.Second},
		{errors.Join(throttle.ErrShed, faults.Unavailable(time.Minute)), time.Minute},
		{fmt.Errorf("calling: %w", refusal{time.Minute}), time.Minute},
		{refusal{-1}, time.Second},
		{refusal{1 << 62}, time.Hour},
	} {
		if got := protocol.Delay(c.err); got != c.want {
			t.Errorf("%v: got %v want %v", c.err, got, c.want)
		}
	}
}

func TestPushback(t *testing.T) {
	for values, want := range map[string]struct {
		delay time.Duration
		stop  bool
	}{
		"":                    {0, false},
		"0":                   {0, false},
		"1500":                {1500 * time.Millisecond, false},
		"-1":                  {time.Second, true},
		"soon":                {time.Second, true},
		"1 1":                 {time.Second, true},
		"9999999999999999999": {time.Second, true},
	} {
		delay, stop := protocol.Pushback(strings.Fields(values))
		if delay != want.delay || stop != want.stop {
			t.Errorf("%q: got %v, %t want %v, %t", values, delay, stop, want.delay, want.stop)
		}
	}
}
