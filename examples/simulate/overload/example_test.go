package overload_test

import (
	"context"
	"fmt"
	"log"
	"math"

	"github.com/spillway-go/spillway/examples/simulate/overload"
)

// The throttles of ten clients while the backend has a tenth of its capacity for a minute.
func Example() {
	scenarios, err := overload.FindScenarios("brownout")
	if err != nil {
		log.Fatal(err)
	}
	policies, err := overload.FindPolicies("none, tiered")
	if err != nil {
		log.Fatal(err)
	}
	options := overload.Options{Clients: 10, Capacity: 200}
	for _, policy := range policies {
		outcome, err := overload.Play(context.Background(), scenarios[0], policy, 1, options)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s: goodput %.0f %%\n", policy.Title, math.Round(100*outcome.Figures.Goodput))
	}
	// Output:
	// no throttle: goodput 21 %
	// Spillway, policy Tiered: goodput 71 %
}
