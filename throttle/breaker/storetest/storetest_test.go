package storetest

import (
	"testing"

	"github.com/spillway-go/spillway/throttle/breaker"
)

func TestMemoryStore(t *testing.T) {
	Run(t, func(*testing.T) func() breaker.Store {
		s := breaker.NewMemoryStore()
		return func() breaker.Store { return s }
	})
}
