package otelthrottle_test

import (
	"fmt"
	"testing"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/bucket"
)

// TestStoresErrorTypesAreAClosedSet has a store fail in every way.
func TestStoresErrorTypesAreAClosedSet(t *testing.T) {
	for _, err := range errorsOfEveryFault() {
		l := newLab(t, setup{})
		limiter := l.limiter(t, bucket.Config{Store: newDoubtfulStore(fmt.Errorf("user 17: %w", err))})
		take(t.Context(), t, limiter, 1)
		word := throttle.FaultOf(err).String()
		if word == "other" {
			word = "_OTHER"
		}
		equal(t, "failures of type "+word, l.read(t)[storeDuration(word)], 1)
	}
}
