package redisstore_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/spillway-go/spillway/throttle/bucket"
	"github.com/spillway-go/spillway/throttle/redisstore"
)

// Nobody listens at this address: a store that cannot be asked is an error, and no denial.
func ExampleNewBucket() {
	client := redis.NewUniversalClient(redisstore.Options("127.0.0.1:1"))
	defer client.Close()
	store, err := redisstore.NewBucket(client, redisstore.BucketConfig{Name: "geocoder"})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = store.Take(context.Background(), bucket.Request{Key: "tenant", Limit: bucket.PerSecond(50), Min: 1, Max: 1})
	fmt.Println("failed:", err != nil, "denied:", errors.Is(err, bucket.ErrDenied))
	// Output:
	// failed: true denied: false
}
