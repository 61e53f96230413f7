package breakerz_test

import (
	"context"
	"fmt"

	"github.com/spillway-go/spillway/throttle/breaker"
	"github.com/spillway-go/spillway/throttle/breaker/breakerz"
	"github.com/spillway-go/spillway/throttle/statusz"
)

func Example() {
	page := statusz.New()
	defer page.Close()
	m := breaker.Must(breaker.New(breaker.Config{Name: "webhooks"}))
	defer m.Close()
	remove := page.Add(breakerz.Source(m))
	defer remove()

	if err := m.Disable(context.Background(), breaker.Key{ID: "https://hooks.example.com/7"}); err != nil {
		fmt.Println(err)
	}
	status := breakerz.Source(m).Status()
	fmt.Printf("%s %s: %s (%v)\n", status.Kind, status.Name, status.State, status.Level)
	fmt.Println(status.Figures[0].Name, status.Figures[0].Value)
	fmt.Println(status.Transitions[0].To)
	// Output:
	// breaker webhooks: disabled, not running: nothing opens (bad)
	// disabled 1
	// disabled "https://hooks.example.com/7", by_hand
}
