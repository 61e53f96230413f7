package main

import (
	"time"

	"github.com/spillway-go/spillway/examples/storefront/shop"
)

// scenario is what happens to the shop by itself: one act after the other, over and over. The zero scenario is that nothing happens.
type scenario struct {
	name string
	acts []act
}

// act is a part of a scenario. Whatever the act before has done to load and backend is over when it begins.
type act struct {
	length time.Duration        // 0 is until the end
	worsen func(*shop.Settings) // nil is calm
}

func calm(length time.Duration) act { return act{length: length} }

func overload(length time.Duration) act {
	return act{length, func(s *shop.Settings) { s.Load = 4 }}
}

func outage(length time.Duration) act {
	return act{length, func(s *shop.Settings) { s.Backend = shop.Down }}
}

func brownout(length time.Duration) act {
	return act{length, func(s *shop.Settings) { s.Backend = shop.Brownout }}
}

// crash is an outage while everybody presses reload.
func crash(length time.Duration) act {
	return act{length, func(s *shop.Settings) { s.Load, s.Backend = 4, shop.Down }}
}

func scenarios() []scenario {
	const second, minute, forever = time.Second, time.Minute, 0
	return []scenario{
		{"overload", []act{calm(3 * second), overload(forever)}},
		{"outage", []act{calm(5 * second), outage(10 * second), calm(15 * second)}},
		{"brownout", []act{calm(5 * second), brownout(10 * second), calm(15 * second)}},
		// Alerts want minutes of trouble before they fire. They look back on five of them, and most are kept for five more, before they
		// resolve. A crash and not an outage: at a quiet load there are so few checkouts that they are never shed nine times in ten, as
		// ThrottleBackendDown wants it.
		{"tour", []act{calm(2 * minute), overload(5 * minute), calm(10 * minute), crash(4 * minute), calm(10 * minute)}},
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
