package main

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// run100 returns samples of a run of ten minutes, in which a quantity of a hundred is as a function of the part of the time says.
func run100(change func(part float64) float64) []sample {
	var samples []sample
	for i := range 120 {
		n := 100 * change(float64(i)/120)
		samples = append(samples, sample{rss: n * mebi, sys: n * mebi, heap: n * mebi, goroutines: n, series: n, fds: n})
	}
	return samples
}

func TestGrown(t *testing.T) {
	dice := rand.New(rand.NewPCG(1, 0))
	all := []string{"RSS", "runtime", "heap", "goroutines", "series", "fds"}
	for _, tt := range []struct {
		name   string
		change func(part float64) float64
		grown  []string
	}{
		{"flat", func(float64) float64 { return 1 }, nil},
		{"falls", func(part float64) float64 { return 1 - part/2 }, nil},
		{"warms up in the first third", func(part float64) float64 { return min(1, 0.1+3*part) }, nil},
		{"noise", func(float64) float64 { return 0.5 + dice.Float64() }, nil},
		{"a sawtooth", func(part float64) float64 { return 1 + 20*part - float64(int(20*part)) }, nil},
		{"a third of the last third is mad", func(part float64) float64 { return 1 + 10*float64(int(part/0.89)) }, nil},
		{"half as much again", func(part float64) float64 { return 1 + float64(int(part*3/2))/2 }, all},
		{"leaks", func(part float64) float64 { return 1 + 2*part }, all},
		{"leaks with noise", func(part float64) float64 { return 1 + 2*part + dice.Float64()/2 }, all},
		{"within the slack of the larger ones", func(part float64) float64 { return 1 + 0.16*float64(int(part*3/2)) }, []string{"RSS", "runtime", "heap", "fds"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := grown(run100(tt.change), false)
			if len(got) != len(tt.grown) {
				t.Fatalf("got %q want %v", got, tt.grown)
			}
			for i, name := range tt.grown {
				if !strings.HasPrefix(got[i], name+" grew: ") {
					t.Errorf("got %q want that %s grew", got[i], name)
				}
			}
		})
	}
	few := run100(func(float64) float64 { return 1 })[:fewestSamples-1]
	if got := grown(few, false); len(got) != 1 || !strings.Contains(got[0], "too few") {
		t.Errorf("few samples: got %q want that they are too few", got)
	}
}

func TestThirdsOf(t *testing.T) {
	for _, tt := range []struct {
		values []float64
		want   thirds
	}{
		{nil, thirds{}},
		{[]float64{1, 2}, thirds{}},
		{[]float64{3, 1, 2}, thirds{3, 1, 2, 3}},
		{[]float64{9, 1, 5, 4, 4, 8, 0, 2, 7}, thirds{5, 4, 2, 9}},
		{[]float64{1, 3, 5, 7, 9, 13}, thirds{2, 6, 11, 13}},
	} {
		if got := thirdsOf(tt.values); got != tt.want {
			t.Errorf("%v: got %v want %v", tt.values, got, tt.want)
		}
	}
}

func TestParseResident(t *testing.T) {
	for _, tt := range []struct {
		statm string
		want  float64
		wrong bool
	}{
		{"1000 20 10 1 0 5 0\n", 20 * 4096, false},
		{"1000", 0, true},
		{"", 0, true},
		{"1000 -1", 0, true},
		{"1000 many", 0, true},
	} {
		got, err := parseResident(tt.statm, 4096)
		if (err != nil) != tt.wrong || err == nil && got != tt.want {
			t.Errorf("%q: got %v, error %v want %v, error %v", tt.statm, got, err, tt.want, tt.wrong)
		}
	}
}

// TestOneGrowsAlone lets each quantity grow while the others do not: nothing is measured twice, or in the place of something else.
func TestOneGrowsAlone(t *testing.T) {
	for name, set := range map[string]func(s *sample, n float64){
		"RSS":        func(s *sample, n float64) { s.rss = n * mebi },
		"runtime":    func(s *sample, n float64) { s.sys = n * mebi },
		"heap":       func(s *sample, n float64) { s.heap = n * mebi },
		"goroutines": func(s *sample, n float64) { s.goroutines = n },
		"series":     func(s *sample, n float64) { s.series = n },
		"fds":        func(s *sample, n float64) { s.fds = n },
	} {
		samples := run100(func(float64) float64 { return 1 })
		for i := range samples {
			set(&samples[i], 100+float64(i))
		}
		if got := grown(samples, false); len(got) != 1 || !strings.HasPrefix(got[0], name+" grew: ") {
			t.Errorf("%s: got %q want that it grew, and nothing else", name, got)
		}
		if got := grown(samples, true); (len(got) == 0) != (name == "RSS") {
			t.Errorf("%s, with the race detector: got %q want it for all but RSS", name, got)
		}
	}
}
