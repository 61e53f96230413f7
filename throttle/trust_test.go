package throttle_test

import (
	"context"
	"fmt"
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
		"trusted, at the ceiling":         {trusting, "important", throttle.Important},
		"trusted, below it":               {trusting, "medium", throttle.Medium},
		"trusted, below the default":      {trusting, "p7", 7},
		"trusted, above the ceiling":      {trusting, "high", throttle.Important},
		"trusted, silent":                 {trusting, "", throttle.Low},
		"trusted, unknown word":           {trusting, "urgent", throttle.Low},
		"trusted, malformed":              {trusting, "High", throttle.Low},
		"trusted, repeated":               {trusting, "high,high", throttle.Low},
		"trusted, a number":               {trusting, "0", throttle.Low},
		"untrusted":                       {wary, "high", throttle.Low},
		"untrusted, asks for less":        {wary, "p7", throttle.Low},
		"untrusted, silent":               {wary, "", throttle.Low},
		"no Peer":                         {throttle.Trust{Default: throttle.Medium}, "high", throttle.Medium},
		"trusted, default above ceiling":  {throttle.Trust{Peer: knows(true), Ceiling: throttle.Low, Default: throttle.Medium}, "", throttle.Low},
		"stranger, default above ceiling": {throttle.Trust{Peer: knows(false), Ceiling: throttle.Low, Default: throttle.Medium}, "high", throttle.Low},
		"no Peer, default above ceiling":  {throttle.Trust{Ceiling: throttle.Low, Default: throttle.Medium}, "high", throttle.Low},
		"zero, low":                       {throttle.Trust{}, "low", throttle.Medium},
		"zero, high":                      {throttle.Trust{}, "high", throttle.Medium},
		"zero, silent":                    {throttle.Trust{}, "", throttle.Medium},
		"zero default, trusted, silent":   {throttle.Trust{Peer: knows(true), Ceiling: throttle.Important}, "", throttle.Medium},
		"zero default, trusted, high":     {throttle.Trust{Peer: knows(true)}, "high", throttle.High},
		"zero default, untrusted":         {throttle.Trust{Peer: knows(false), Ceiling: throttle.Important}, "high", throttle.Medium},
		"zero default above ceiling":      {throttle.Trust{Ceiling: throttle.Low}, "high", throttle.Low},
		"trusted, word above low ceiling": {throttle.Trust{Peer: knows(true), Ceiling: throttle.Low, Default: throttle.Medium}, "medium", throttle.Low},
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

// An untrusted sender never gets a higher priority than a trusted one can name.
func TestTrust_UntrustedNeverAboveTrusted(t *testing.T) {
	for _, ceiling := range []throttle.Priority{throttle.High, throttle.Important, throttle.Medium, throttle.Low} {
		trusted := throttle.Trust{Peer: knows(true), Ceiling: ceiling}
		stranger := throttle.Trust{Peer: knows(false), Ceiling: ceiling}
		for _, word := range []string{"high", "low", "", "urgent"} {
			best, got := trusted.Accept(t.Context(), "high"), stranger.Accept(t.Context(), word)
			if got < best {
				t.Errorf("Trust{Ceiling: %v}, %q: got %v for an untrusted sender, and at best %v for a trusted sender", ceiling, word, got, best)
			}
		}
	}
}

// A Default out of range means the lowest priority.
func TestTrust_DefaultOutOfRange(t *testing.T) {
	for _, wrong := range []throttle.Priority{-1, -128, 16, 127} {
		for name, c := range map[string]struct {
			trust throttle.Trust
			word  string
		}{
			"no Peer":         {throttle.Trust{Default: wrong}, "high"},
			"untrusted":       {throttle.Trust{Peer: knows(false), Default: wrong}, "high"},
			"trusted, silent": {throttle.Trust{Peer: knows(true), Default: wrong}, ""},
			"below a ceiling": {throttle.Trust{Ceiling: throttle.Low, Default: wrong}, "high"},
		} {
			equal(t, fmt.Sprintf("%s, %d", name, int8(wrong)), c.trust.Accept(t.Context(), c.word), 15)
		}
	}
	right := throttle.Trust{Peer: knows(true), Ceiling: throttle.Important, Default: -1}
	equal(t, "a trusted sender beside a wrong default", right.Accept(t.Context(), "important"), throttle.Important)
}

func FuzzTrust(f *testing.F) {
	for p := range everyPriority {
		f.Add(p.String(), true, int8(throttle.Important), int8(throttle.Low))
		f.Add(p.String(), false, int8(throttle.High), int8(throttle.Medium))
	}
	f.Add("high,high", true, int8(2), int8(3))
	f.Add("high", false, int8(0), int8(-1))
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
