package main

import (
	"time"

	"github.com/spillway-go/spillway/throttle/bucket"
)

// What parent and members say to each other, as JSON: orders, once, on the member's standard input, and reports, one after the other, on its
// standard output. The member works until its input ends, which it does when the parent dies, whatever of.

// orders say what a member has to do.
type orders struct {
	Name    string
	Partner string // its URL
	Workers int
	Limit   bucket.Limit
	Policy  bucket.FailurePolicy
	Members int   // that share the limit
	Store   place // the zero place is a store in memory, of the member's own
	Metrics string
}

// report says what a member has done so far.
type report struct {
	Metrics string `json:",omitempty"` // where it serves what can be seen of it; only in its first report
	Failure string `json:",omitempty"` // why it ends before its time; only in its last report

	Answers, Silences uint64        // of the store; a silence is an answer that did not come in time
	Why               string        `json:",omitempty"` // the store's last silence
	Slowest           time.Duration // what took longest of all that lies between the grant of a token and the partner
}

// often is how often a member reports.
const often = 20 * time.Millisecond
