package main

import (
	"time"

	"github.com/spillway-go/spillway/throttle"
)

// each returns one record per second, with the outcomes in order.
func each(p throttle.Priority, os ...outcome) (records []record) {
	for i, o := range os {
		records = append(records, record{arrival: arrival{at: time.Duration(i) * time.Second, priority: p}, outcome: o})
	}
	return records
}
