package check

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"
)

func TestWithin(t *testing.T) {
	for value, want := range map[float64]bool{0.99: false, 1: true, 1.5: true, 2: true, 2.01: false, math.NaN(): false, math.Inf(1): false} {
		if got := Within(value, 1, 2); got != want {
			t.Errorf("%v within 1 and 2: got %v want %v", value, got, want)
		}
	}
	if Default(0, 2) != 2 || Default(3, 2) != 3 {
		t.Error("Default: want 2 for 0, and other values as they are")
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
