package main

import (
	"testing"
	"time"
)

func TestSpan(t *testing.T) {
	for d, want := range map[time.Duration]string{
		12345 * time.Millisecond: "12.3s", 1234 * time.Millisecond: "1.23s", 123456 * time.Microsecond: "123.5ms", 1234 * time.Microsecond: "1.23ms", 0: "0s",
	} {
		if got := span(d); got != want {
			t.Errorf("span of %d: got %s want %s", d, got, want)
		}
	}
}
