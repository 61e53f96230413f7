package overload_test

import (
	"context"
	"fmt"
	"log"
	"math"

	"github.com/spillway-go/spillway/examples/simulate/overload"
)

// What a throttle makes of two minutes in which five times as many calls come as the backend can serve.
func Example() {
	scenarios, err := overload.FindScenarios("over5")
	if err != nil {
		log.Fatal(err)
	}
	policies, err := overload.FindPolicies("none, sre")
	if err != nil {
		log.Fatal(err)
	}
	for _, policy := range policies {
		outcome, err := overload.Play(context.Background(), scenarios[0], policy, 1, overload.Options{})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s: goodput %.0f %%\n", policy.Title, math.Round(100*outcome.Figures.Goodput))
	}
	// Output:
	// no throttle: goodput 56 %
	// Spillway, policy SRE: goodput 89 %
}
