package store_test

import (
	"fmt"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket"
	"github.com/spillway-go/spillway/throttle/bucket/store"
)

// A store keeps the level between requests.
func ExampleLevel_Take() {
	limit := bucket.Per(2, time.Minute).WithDefaults()
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC).UnixNano()
	var level store.Level // a full bucket
	for range 3 {
		var d store.Decision
		level, d = level.Take(limit, now, 1, 1)
		fmt.Println(d.Allowed, d.Remaining, d.RetryAfter)
	}
	level = level.Return(limit, now, 1)
	fmt.Println(level.Full(limit, now), level.Full(limit, now+int64(time.Minute)))
	// Output:
	// true 1 0s
	// true 0 0s
	// false 0 30s
	// false true
}
