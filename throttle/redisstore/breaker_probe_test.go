package redisstore

import (
	"testing"
	"time"
)

// TestSinceMicros wants a time before 1970 to be moved by whole periods.
func TestSinceMicros(t *testing.T) {
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
		"far away":    {time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC), 1000, maxMicros},
	} {
		if got := sinceMicros(c.since, c.every); got != c.want {
			t.Errorf("%s: got %d want %d", name, got, c.want)
		}
	}
}
