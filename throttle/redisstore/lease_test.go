package redisstore

import (
	"math"
	"testing"
	"time"
)

func TestMicroseconds(t *testing.T) {
	for d, want := range map[time.Duration]int64{
		-time.Hour: 0, 0: 0, 1: 1, 999: 1, 1000: 1, 1999: 1, 2000: 2, time.Second: 1e6, math.MaxInt64: mostMicros,
	} {
		if got := microseconds(d); got != want {
			t.Errorf("%v: got %d want %d", d, got, want)
		}
	}
	for micros, want := range map[int64]time.Duration{
		-1: 0, 0: 0, 1: time.Microsecond, 1e6: time.Second, math.MaxInt64: mostMicros * time.Microsecond, math.MinInt64: 0,
	} {
		if got := duration(micros); got != want || got < 0 {
			t.Errorf("%d: got %v want %v", micros, got, want)
		}
	}
}
