package throttle_test

import (
	"context"
	"testing"

	"github.com/spillway-go/spillway/throttle"
)

// knows returns a Trust.Peer that trusts every sender or none.
func knows(trusted bool) func(context.Context) bool {
	return func(context.Context) bool { return trusted }
}

func TestTrust_Accept(t *testing.T) {
	trusting := throttle.Trust{Peer: knows(true), Ceiling: throttle.Important, Default: throttle.Low}
	wary := throttle.Trust{Peer: knows(false), Ceiling: throttle.Important, Default: throttle.Low}
	for name, c := range map[string]struct {
		trust throttle.Trust
		word  string
		want  throttle.Priority
	}{
		"trusted, at the ceiling":        {trusting, "important", throttle.Important},
		"trusted, below it":              {trusting, "medium", throttle.Medium},
		"trusted, below the default":     {trusting, "p7", 7},
		"trusted, above the ceiling":     {trusting, "high", throttle.Important},
		"trusted, silent":                {trusting, "", throttle.Low},
		"trusted, unknown word":          {trusting, "urgent", throttle.Low},
		"trusted, malformed":             {trusting, "High", throttle.Low},
		"untrusted":                      {wary, "high", throttle.Low},
		"untrusted, asks for less":       {wary, "p7", throttle.Low},
		"no Peer":                        {throttle.Trust{Default: throttle.Medium}, "high", throttle.Medium},
		"trusted, default above ceiling": {throttle.Trust{Peer: knows(true), Ceiling: throttle.Low, Default: throttle.Medium}, "", throttle.Low},
		"zero, high":                     {throttle.Trust{}, "high", throttle.Medium},
		"zero default, trusted, silent":  {throttle.Trust{Peer: knows(true), Ceiling: throttle.Important}, "", throttle.Medium},
		"zero default above ceiling":     {throttle.Trust{Ceiling: throttle.Low}, "high", throttle.Low},
	} {
		t.Run(name, func(t *testing.T) {
			equal(t, "Accept", c.trust.Accept(context.Background(), c.word), c.want)
		})
	}
}

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
		trust := throttle.Trust{Peer: knows(trusted), Ceiling: throttle.Priority(ceiling), Default: throttle.Priority(def)}
		got := trust.Accept(context.Background(), word)
		others, _ := throttle.ClampPriority(trust.Default, throttle.MaxPriorities)
		if def == 0 {
			others = throttle.Medium
		}
		asked, invalid := throttle.ParsePriority(word)
		switch {
		case !trusted || invalid != nil:
			equal(t, "Accept without a trusted word", got, max(others, trust.Ceiling))
		case got < trust.Ceiling:
			t.Errorf("Accept(%q): got %v want nothing above %v", word, got, trust.Ceiling)
		case got < asked:
			t.Errorf("Accept(%q): got %v want nothing above what was asked for", word, got)
		case asked >= trust.Ceiling:
			equal(t, "Accept of what is below the ceiling", got, asked)
		}
	})
}
