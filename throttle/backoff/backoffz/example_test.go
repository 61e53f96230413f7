package backoffz_test

import (
	"context"
	"fmt"
	"time"

	"github.com/spillway-go/spillway/throttle/backoff"
	"github.com/spillway-go/spillway/throttle/backoff/backoffz"
	"github.com/spillway-go/spillway/throttle/statusz"
)

func Example() {
	page := statusz.New()
	defer page.Close()
	r := backoff.Must(backoff.New(backoff.Config{Name: "orders-table", InitialInterval: time.Second}))
	defer r.Close()
	source := backoffz.Source(r)
	remove := page.Add(source)
	defer remove()

	permit, err := r.Wait(context.Background())
	if err != nil {
		fmt.Println(err)
	}
	permit.Done(backoff.Throttled)

	status := source.Status()
	fmt.Println(status.Kind, status.Name, "is", status.State)
	fmt.Println(status.Figures[0].Name, status.Figures[0].Value, status.Figures[0].Unit)
	// Output:
	// backoff orders-table is throttled most
	// delay 1 s, pace of all
}
