package dashboards_test

import (
	"fmt"
	"io/fs"

	"github.com/spillway-go/spillway/dashboards"
)

// Example lists the dashboards, as a program would that hands them on to a Grafana.
func Example() {
	names, err := fs.Glob(dashboards.FS, "*.json")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, name := range names {
		fmt.Println(name)
	}
	// Output:
	// availability.json
	// backoffs.json
	// breakers.json
	// limits.json
	// overview.json
}
