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

func TestWhatIsForgottenIsToldAtOnceAndTakesNoRoom(t *testing.T) {
	var k Every[int]
	for range 3 {
		_, _ = k.Allow(7, time.Unix(0, 0), time.Minute)
	}
	k.Forget(7)
	k.Forget(8)
	if got := len(k.kinds); got != 0 {
		t.Errorf("kinds kept: got %d want 0", got)
	}
	if missed, ok := k.Allow(7, time.Unix(1, 0), time.Minute); missed != 0 || !ok {
		t.Errorf("after Forget: got %d, %v want 0, true", missed, ok)
	}
}
