package redisstore_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/spillway-go/spillway/throttle/breaker"
	"github.com/spillway-go/spillway/throttle/bucket"
	bucketstore "github.com/spillway-go/spillway/throttle/bucket/store"
	"github.com/spillway-go/spillway/throttle/redisstore"
)

// No server listens at this address. Calls go through all the same, because no call waits for the store.
func ExampleNewBreaker() {
	client := redis.NewUniversalClient(redisstore.Options("127.0.0.1:1"))
	defer client.Close()
	store, err := redisstore.NewBreaker(client, redisstore.BreakerConfig{Name: "webhooks"})
	if err != nil {
		fmt.Println(err)
		return
	}
	manager := breaker.Must(breaker.New(breaker.Config{Name: "webhooks", Store: store, Poll: deliveries}))
	defer manager.Close()

	ctx := context.Background()
	fmt.Println("the store has failed:", manager.Refresh(ctx) != nil)
	fmt.Println("may a call be made?", manager.CanExecute(ctx, breaker.Key{ID: "https://example.com/hook"}) == nil)
	// Output:
	// the store has failed: true
	// may a call be made? true
}

func deliveries(context.Context, breaker.PollQuery) (map[breaker.Key]breaker.PollResult, error) {
	return nil, nil
}

// No server listens at this address. Take returns the error of the store, which is not a denial.
func ExampleNewBucket() {
	client := redis.NewUniversalClient(redisstore.Options("127.0.0.1:1"))
	defer client.Close()
	b, err := redisstore.NewBucket(client, redisstore.BucketConfig{Name: "geocoder"})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = b.Take(context.Background(), bucketstore.Request{Key: "tenant", Limit: bucket.PerSecond(50), Min: 1, Max: 1})
	fmt.Println("failed:", err != nil, "denied:", errors.Is(err, bucket.ErrDenied))
	// Output:
	// failed: true denied: false
}
