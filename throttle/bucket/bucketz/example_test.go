package bucketz_test

import (
	"context"
	"fmt"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket"
	"github.com/spillway-go/spillway/throttle/bucket/bucketz"
	"github.com/spillway-go/spillway/throttle/statusz"
)

func Example() {
	page := statusz.New()
	defer page.Close()
	l := bucket.Must(bucket.New(bucket.Config{Name: "geocoder", Limit: bucket.Every(time.Hour)}))
	defer l.Close()
	source := bucketz.Source(l)
	remove := page.Add(source)
	defer remove()

	for range 3 {
		if _, err := l.Allow(context.Background(), "tenant 7"); err != nil {
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
