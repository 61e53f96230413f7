package adaptive_test

import (
	"testing"

	"github.com/spillway-go/spillway/throttle/adaptive"
)

// BenchmarkThrottler measures one call: the decision, and the registration of its result.
func BenchmarkThrottler(b *testing.B) {
	for _, bb := range []struct {
		name    string
		refused int // of 16 calls
	}{{"healthy", 0}, {"overloaded", 12}, {"down", 16}} {
		b.Run(bb.name, func(b *testing.B) {
			th := warm(b, bb.refused)
			b.ReportAllocs()
			for n := 0; b.Loop(); n++ {
				once(th, n%16 < bb.refused)
			}
		})
		b.Run(bb.name+"/parallel", func(b *testing.B) {
			th := warm(b, bb.refused)
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for n := 0; pb.Next(); n++ {
					once(th, n%16 < bb.refused)
				}
			})
		})
	}
}

func warm(b *testing.B, refused int) *adaptive.Throttler {
	th, err := adaptive.New(adaptive.Config{})
	if err != nil {
		b.Fatal(err)
	}
	for n := range 16_000 {
		th.RegisterBackendResponse(n%16 < refused)
	}
	return th
}

func once(th *adaptive.Throttler, refused bool) {
	if !th.ShouldThrottle() {
		th.RegisterBackendResponse(refused)
	}
}
