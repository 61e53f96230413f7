package storetest

import (
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket"
)

func TestMemoryStore(t *testing.T) {
	s := bucket.NewMemoryStore()
	Run(t, func(*testing.T) bucket.Store { return s }, ClockResolution(time.Nanosecond))
}
