package protocol_test

import (
	"context"
	"testing"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/protocol"
)

func TestPriority(t *testing.T) {
	if p, set := protocol.Priority(t.Context()); set || p != throttle.Medium {
		t.Errorf("none: got %v, %t want medium, false", p, set)
	}
	for p := throttle.High; p <= throttle.Low; p++ {
		if got, set := protocol.Priority(throttle.WithPriority(t.Context(), p)); !set || got != p || protocol.Word(p) != p.String() {
			t.Errorf("got %v, %t, %s want %v, true", got, set, protocol.Word(p), p)
		}
	}
	for _, p := range []throttle.Priority{-1, throttle.MaxPriorities} {
		if got := protocol.Word(p); got != "p15" {
			t.Errorf("word of %v: got %s want p15", p, got)
		}
	}
}

func TestAccept(t *testing.T) {
	asked := 0
	peer := func(trusted bool) func(context.Context) bool {
		return func(context.Context) bool { asked++; return trusted }
	}
	for name, c := range map[string]struct {
		trust   throttle.Trust
		words   []string
		want    throttle.Priority
		trusted bool
		asked   int
	}{
		"zero Trust":     {throttle.Trust{}, []string{"high"}, throttle.Medium, false, 0},
		"trusted":        {throttle.Trust{Peer: peer(true)}, []string{"high"}, throttle.High, true, 1},
		"not trusted":    {throttle.Trust{Peer: peer(false), Default: throttle.Low}, []string{"high"}, throttle.Low, false, 1},
		"above Ceiling":  {throttle.Trust{Peer: peer(true), Ceiling: throttle.Important}, []string{"high"}, throttle.Important, true, 1},
		"below Ceiling":  {throttle.Trust{Peer: peer(true), Ceiling: throttle.Important}, []string{"p9"}, 9, true, 1},
		"no word":        {throttle.Trust{Peer: peer(true)}, nil, throttle.Medium, false, 0},
		"two words":      {throttle.Trust{Peer: peer(true)}, []string{"high", "low"}, throttle.Medium, false, 0},
		"an unknown one": {throttle.Trust{Peer: peer(true)}, []string{"High"}, throttle.Medium, false, 0},
	} {
		asked = 0
		if p, trusted := protocol.Accept(t.Context(), c.trust, c.words); p != c.want || trusted != c.trusted || asked != c.asked {
			t.Errorf("%s: got %v, %t, Peer called %d times want %v, %t, %d", name, p, trusted, asked, c.want, c.trusted, c.asked)
		}
	}
}
