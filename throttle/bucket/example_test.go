package bucket_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket"
)

// Five calls at once, of which an hour has room for two.
func Example() {
	ctx := context.Background()
	l, err := bucket.New(bucket.Config{Name: "reports", Limit: bucket.Limit{Capacity: 2, Refill: 1, Period: time.Hour}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 5 {
		d, err := l.Allow(ctx, "ann")
		fmt.Println(d.Allowed, d.Remaining, err, d.RetryAfter.Round(time.Minute))
	}
	// Output:
	// true 1 <nil> 0s
	// true 0 <nil> 0s
	// false 0 <nil> 1h0m0s
	// false 0 <nil> 1h0m0s
	// false 0 <nil> 1h0m0s
}

// A function behind a bucket.
func ExampleGuard() {
	l := bucket.Must(bucket.New(bucket.Config{Name: "mail", Limit: bucket.Every(time.Hour)}))
	send := bucket.Guard(l.Requester("ann"), func(context.Context) (string, error) { return "sent", nil })
	for range 2 {
		answer, err := send(context.Background())
		fmt.Printf("%q %v\n", answer, errors.Is(err, bucket.ErrDenied))
	}
	// Output:
	// "sent" false
	// "" true
}
