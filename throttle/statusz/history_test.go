package statusz

import (
	"math"
	"slices"
	"strconv"
	"testing"
)

func TestSeries_bounded(t *testing.T) {
	var s series
	for i := range 1000 {
		before := s
		picture := slices.Clone(before)
		s = s.push(float32(i%7), min(i, historyLength))
		if !slices.Equal(before, picture) {
			t.Fatalf("push %d has changed what was there", i)
		}
		if cap(s) > historyLength+historySlack {
			t.Fatalf("push %d: got room for %d samples, want at most %d", i, cap(s), historyLength+historySlack)
		}
		if i < 1 {
			continue // nothing but 0
		}
		shown := s.recent()
		if len(shown) != min(i+1, historyLength) {
			t.Fatalf("push %d: got %d samples", i, len(shown))
		}
		for j, v := range shown {
			if want := float32((i - len(shown) + 1 + j) % 7); v != want {
				t.Fatalf("push %d: got sample %d %v want %v", i, j, v, want)
			}
		}
	}
}

func TestSeries_zeros(t *testing.T) {
	var s series
	for i := range 1000 {
		s = s.push(0, min(i, historyLength))
	}
	if s != nil {
		t.Fatalf("got a series of %d for nothing but zeros, want nil", len(s))
	}
	s = s.push(1, historyLength)
	if len(s.recent()) != historyLength || s.recent()[historyLength-1] != 1 || s.recent()[historyLength-2] != 0 {
		t.Fatalf("got %v want 299 zeros and a 1", s.recent())
	}
	for range historyLength + historySlack {
		s = s.push(0, historyLength)
	}
	if s != nil {
		t.Error("the series is kept although its last number has gone")
	}
}

func TestAppendNumber(t *testing.T) {
	tests := []struct {
		v    float64
		want string
	}{
		{0, "0"},
		{1, "1"},
		{0.5, "0.5"},
		{0.0001, "0.0001"},
		{0.00004, "0"},
		{0.99996, "1"},
		{12.34, "12.34"},
		{100.05, "100.05"},
		{123456789, "123456789"},
		{-1.5, "-1.5"},
		{1e300, "1e+300"},
		{math.NaN(), "0"},
		{math.Inf(1), "0"},
		{math.Inf(-1), "0"},
	}
	for _, tt := range tests {
		if got := string(appendNumber(nil, tt.v)); got != tt.want {
			t.Errorf("appendNumber(%v): got %s want %s", tt.v, got, tt.want)
		}
	}
}

// FuzzAppendNumber compares appendNumber with strconv.
func FuzzAppendNumber(f *testing.F) {
	for _, v := range []float64{0, 1, 0.1, 99.9999, 1e9, 1.5999998879233334e+11, -3, math.MaxFloat64, math.Inf(1)} {
		f.Add(v)
	}
	f.Fuzz(func(t *testing.T, v float64) {
		text := string(appendNumber(nil, v))
		got, err := strconv.ParseFloat(text, 64)
		want := finite(v)
		if rounding := 4e-16 * math.Abs(want); err != nil || math.Abs(got-want) > 0.00006+rounding {
			t.Errorf("appendNumber(%v): got %q", v, text)
		}
	})
}

func TestRate(t *testing.T) {
	tests := []struct {
		before, now uint64
		seconds     float64
		want        float64
	}{
		{0, 10, 1, 10},
		{5, 10, 2, 2.5},
		{10, 10, 1, 0},
		{10, 5, 1, 0},
		{0, 5, 0, 0},
		{0, 5, -1, 0},
		{0, 5, math.NaN(), 0},
		{0, math.MaxUint64, 1e-300, 0},
	}
	for _, tt := range tests {
		if got := rate(tt.before, tt.now, tt.seconds); got != tt.want {
			t.Errorf("rate(%d, %d, %v): got %v want %v", tt.before, tt.now, tt.seconds, got, tt.want)
		}
	}
	for v, want := range map[float64]float32{0: 0, 0.04: 0, 4.99: 5, 12.34: 12.3, 999.96: 1000, 12345.6: 12346} {
		if got := roundRate(v); got != want {
			t.Errorf("roundRate(%v): got %v want %v", v, got, want)
		}
	}
}
