package ratelimitlog

import (
	"testing"
	"time"
)

func TestOneOfEachKindIsToldInAWhile(t *testing.T) {
	var k Every[string]
	begun := time.Unix(0, 0)
	for i, tt := range []struct {
		kind   string
		after  time.Duration
		missed uint64
		ok     bool
	}{
		{"store", 0, 0, true},
		{"store", 0, 0, false},
		{"store", 59 * time.Second, 0, false},
		{"poll", 59 * time.Second, 0, true},
		{"store", 60 * time.Second, 2, true},
		{"store", 119 * time.Second, 0, false},
		{"poll", 119 * time.Second, 0, true},
		{"store", 500 * time.Second, 1, true},
	} {
		if missed, ok := k.Allow(tt.kind, begun.Add(tt.after), time.Minute); missed != tt.missed || ok != tt.ok {
			t.Errorf("event %d, of %s after %v: got %d, %v want %d, %v", i, tt.kind, tt.after, missed, ok, tt.missed, tt.ok)
		}
	}
}
