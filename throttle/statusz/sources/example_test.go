package sources_test

import (
	"context"
	"fmt"
	"time"

	"github.com/spillway-go/spillway/throttle/backoff"
	"github.com/spillway-go/spillway/throttle/breaker"
	"github.com/spillway-go/spillway/throttle/bucket"
	"github.com/spillway-go/spillway/throttle/statusz"
	"github.com/spillway-go/spillway/throttle/statusz/sources"
)

func ExampleBreaker() {
	page := statusz.New()
	defer page.Close()
	m := breaker.Must(breaker.New(breaker.Config{Name: "webhooks"}))
	defer m.Close()
	source := sources.Breaker(m)
	remove := page.Add(source)
	defer remove()

	if err := m.Disable(context.Background(), breaker.Key{ID: "https://hooks.example.com/7"}); err != nil {
		fmt.Println(err)
	}
	status := source.Status()
	fmt.Printf("%s %s: %s (%v)\n", status.Kind, status.Name, status.State, status.Level)
	fmt.Println(status.Figures[0].Name, status.Figures[0].Value)
	fmt.Println(status.Transitions[0].To)
	// Output:
	// breaker webhooks: disabled (bad)
	// disabled 1
	// disabled "https://hooks.example.com/7", by_hand
}

func ExampleBucket() {
	page := statusz.New()
	defer page.Close()
	l := bucket.Must(bucket.New(bucket.Config{Name: "geocoder", Limit: bucket.Every(time.Hour)}))
	defer l.Close()
	source := sources.Bucket(l)
	remove := page.Add(source)
	defer remove()

	for range 3 {
		if _, err := l.Decide(context.Background(), "tenant 7"); err != nil {
			fmt.Println(err)
		}
	}
	status := source.Status()
	fmt.Println(status.Kind, status.Name, "is", status.State)
	for _, f := range status.Figures[1:3] {
		fmt.Println(f.Name, f.Value)
	}
	// Output:
	// bucket geocoder is denying most
	// granted 1
	// denied 2
}

func ExampleBackoff() {
	page := statusz.New()
	defer page.Close()
	r := backoff.Must(backoff.New(backoff.Config{Name: "orders-table", InitialInterval: time.Second}))
	defer r.Close()
	source := sources.Backoff(r)
	remove := page.Add(source)
	defer remove()

	permit, err := r.Wait(context.Background())
	if err != nil {
		fmt.Println(err)
	}
	permit.Finish(backoff.Throttled)

	status := source.Status()
	fmt.Println(status.Kind, status.Name, "is", status.State)
	fmt.Println(status.Figures[0].Name, status.Figures[0].Value, status.Figures[0].Unit)
	// Output:
	// backoff orders-table is throttled most
	// delay 1 s, pace of all
}
