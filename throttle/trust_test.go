package throttle_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/spillway-go/spillway/throttle"
)

func TestTrust_PeerSeesTheContext(t *testing.T) {
	type key struct{}
	trust := throttle.Trust{
		Peer:    func(ctx context.Context) bool { return ctx.Value(key{}) == "our own" },
		Default: throttle.Low,
	}
	equal(t, "stranger", trust.Accept(context.Background(), "high"), throttle.Low)
	equal(t, "our own", trust.Accept(context.WithValue(context.Background(), key{}, "our own"), "high"), throttle.High)
}

func FuzzTrust(f *testing.F) {
	for p := range everyPriority {
		f.Add(p.String(), true, int8(throttle.Important), int8(throttle.Low))
		f.Add(p.String(), false, int8(throttle.High), int8(throttle.Medium))
	}
	for _, word := range []string{"high", "low", "", "high,high", "0", "urgent"} {
		for _, def := range []int8{-128, -1, 0, 2, 16, 127} {
			f.Add(word, true, int8(throttle.Important), def)
			f.Add(word, true, int8(throttle.Low), def)
			f.Add(word, false, int8(throttle.Low), def)
		}
	}
	f.Add("high", true, int8(-1), int8(127))
	f.Fuzz(func(t *testing.T, word string, trusted bool, ceiling, def int8) {
		knows := func(context.Context) bool { return trusted }
		trust := throttle.Trust{Peer: knows, Ceiling: throttle.Priority(ceiling), Default: throttle.Priority(def)}
		want, _ := throttle.ClampPriority(trust.Default, throttle.MaxPriorities)
		if def == 0 {
			want = throttle.Medium
		}
		if asked, err := throttle.ParsePriority(word); trusted && err == nil {
			want = asked
		}
		equal(t, fmt.Sprintf("Accept(%q), the Ceiling at most", word), trust.Accept(context.Background(), word), max(want, trust.Ceiling))
	})
}
