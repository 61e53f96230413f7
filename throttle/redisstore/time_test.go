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

// TestPeriodsBefore1970AreMovedByWholeOnes wants periods to begin where they would: what is before 1970 is moved by whole ones.
func TestPeriodsBefore1970AreMovedByWholeOnes(t *testing.T) {
	for name, c := range map[string]struct {
		since time.Time
		every int64
		want  int64
	}{
		"now":         {time.UnixMicro(1795261589000001), 1000, 1795261589000001},
		"1970":        {time.UnixMicro(0), 1000, 0},
		"just before": {time.UnixMicro(-1), 1000, 999},
		"one period":  {time.UnixMicro(-1000), 1000, 0},
		"zero time":   {time.Time{}, 7, (time.Time{}.UnixMicro()%7 + 7) % 7},
		"far away":    {time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC), 1000, mostMicros},
	} {
		if got := sinceMicros(c.since, c.every); got != c.want {
			t.Errorf("%s: got %d want %d", name, got, c.want)
		}
	}
}
