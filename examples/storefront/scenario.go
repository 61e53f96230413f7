package main

import (
	"time"

	"github.com/spillway-go/spillway/examples/storefront/shop"
)

// scenario is what happens to the shop by itself: calm, then trouble, then calm again, over and over. The zero scenario is that
// nothing happens.
type scenario struct {
	name    string
	calm    time.Duration
	trouble time.Duration // 0 is until the end
	rest    time.Duration
	worsen  func(*shop.Settings)
}

func scenarios() []scenario {
	const calm, trouble, rest = 5 * time.Second, 10 * time.Second, 15 * time.Second
	return []scenario{
		{name: "overload", calm: 3 * time.Second, worsen: func(s *shop.Settings) { s.Load = 4 }},
		{"outage", calm, trouble, rest, func(s *shop.Settings) { s.Backend = shop.Down }},
		{"brownout", calm, trouble, rest, func(s *shop.Settings) { s.Backend = shop.Brownout }},
	}
}

// findScenario returns the scenario of that name.
func findScenario(name string) (sc scenario, ok bool) {
	for _, sc := range scenarios() {
		if sc.name == name {
			return sc, true
		}
	}
	return scenario{}, name == "none"
}
