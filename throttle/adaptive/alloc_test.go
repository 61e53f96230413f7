package adaptive_test

import "testing"

func TestNothingIsAllocated(t *testing.T) {
	healthy := newThrottler(t, 0)
	healthy.Accepted()
	shedding := newThrottler(t, 0)
	shedding.Throttled()
	sparing := newThrottler(t, 1)
	sparing.Throttled()
	tests := []struct {
		name string
		f    func()
	}{
		{"healthy call", func() { healthy.ShouldThrottle(); healthy.Accepted() }},
		{"throttled call", func() { shedding.ShouldThrottle() }},
		{"refused call", func() { sparing.ShouldThrottle(); sparing.RegisterBackendResponse(true) }},
		{"probability", func() { shedding.RejectionProbability() }},
		{"stats", func() { shedding.Stats() }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			equal(t, "allocations", testing.AllocsPerRun(1000, tt.f), 0)
		})
	}
	if got := shedding.Stats().Total.Shed; got < 1000 {
		t.Errorf("%d throttled locally: the throttled call was not tested", got)
	}
}
