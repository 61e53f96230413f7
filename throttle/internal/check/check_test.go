package check

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"
)

func TestDefault(t *testing.T) {
	if got := Default(0, 2); got != 2 {
		t.Errorf("Default(0, 2) = %d", got)
	}
	if got := Default(time.Second, time.Minute); got != time.Second {
		t.Errorf("Default(1s, 1m) = %v", got)
	}
}

func TestWithin(t *testing.T) {
	for _, value := range []float64{0.99, 2.01, math.NaN(), math.Inf(1)} {
		if Within(value, 1, 2) {
			t.Errorf("%v is within 1 and 2", value)
		}
	}
	for _, value := range []float64{1, 1.5, 2} {
		if !Within(value, 1, 2) {
			t.Errorf("%v is not within 1 and 2", value)
		}
	}
}

func TestErrors(t *testing.T) {
	e := Errors{Owner: "throttle: Config"}
	if err := e.Err(); err != nil {
		t.Errorf("no field is invalid: %v", err)
	}
	e.Name("Name", "")
	e.Name("Name", strings.Repeat("a", 300))
	e.Name("Name", strings.Repeat("a", MaxName))
	e.Span("Window", time.Minute, time.Second, time.Hour)
	e.Span("Window", 2*time.Hour, time.Second, time.Hour)
	e.Want(false, "Ratio", 0.5, "more than 1")
	e.Missing("Limit", "a rate, such as PerSecond(10)")
	e.Add(nil)
	e.Add(errors.New("other"))
	want := strings.Join([]string{
		`throttle: Config.Name is missing: want 1 to 255 bytes`,
		`throttle: Config.Name is "` + strings.Repeat("a", 64) + `"... (300 bytes): want 1 to 255 bytes`,
		`throttle: Config.Window is 2h0m0s: want 1s to 1h0m0s`,
		`throttle: Config.Ratio is 0.5: want more than 1`,
		`throttle: Config.Limit is missing: want a rate, such as PerSecond(10)`,
		`other`,
	}, "\n")
	if err := e.Err(); err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%v", err, want)
	}
}
