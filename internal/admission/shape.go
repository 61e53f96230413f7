package main

import (
	"fmt"
	"time"
)

// The protocols of a server.
const (
	protocolHTTP    = "HTTP/1.1"
	protocolHTTP2   = "HTTP/2"
	protocolGRPC    = "gRPC"
	protocolConnect = "Connect"
)

// shape is a server, what a request costs it, and what else uses its processors. Shapes are
// comparable: each has a capacity of its own.
type shape struct {
	Protocol    string        // protocolHTTP by default
	Work        time.Duration // of processor per request
	Procs       int           // GOMAXPROCS; with 2 the load runs on the same two processors
	Connections int           // of the load; 0 for as many as it needs
	LowWaits    time.Duration // Low requests wait this long and use no processor
	Waits       time.Duration // each request waits this long and uses no processor
	Slots       int           // requests that may wait at once, as with a pool of connections; 0 for all
	Slowdown    time.Duration // after which Waits is ten times as long
	Allocates   int           // bytes that a request allocates
	Heap        int           // bytes that live as long as the process
	Background  int           // goroutines that never rest, per processor
	Neighbour   bool          // another process keeps the server's processor busy
}

func plain() shape { return shape{Protocol: protocolHTTP, Work: 5 * time.Millisecond, Procs: 1} }

// alone returns the shape in which requests have the processors for themselves.
func (s shape) alone() shape {
	s.Background, s.Neighbour, s.LowWaits, s.Slowdown = 0, false, 0, 0
	return s
}

// calibration returns how many workers keep the server busy to measure its capacity, and for how long.
func (s shape) calibration() (workers int, length time.Duration) {
	switch {
	case s.Heap > 0:
		return 8, 8 * time.Second // a few cycles of the garbage collector
	case s.Background > 0, s.Waits > 0:
		return 16, 3 * time.Second
	default:
		return 8, 3 * time.Second
	}
}

// processors returns the list for taskset of the processors of the server.
func (s shape) processors() string {
	if s.Procs == 1 {
		return "0"
	}
	return "0,1"
}

// String names what differs from the usual, for the line of its capacity.
func (s shape) String() string {
	text := fmt.Sprintf("%s, handler %v, GOMAXPROCS %d", s.Protocol, s.Work, s.Procs)
	if s.Waits > 0 {
		text += fmt.Sprintf(", waits %v, %d at once", s.Waits, s.Slots)
	}
	if s.Connections > 0 {
		text += fmt.Sprintf(", %d connections", s.Connections)
	}
	if s.Heap > 0 {
		text += fmt.Sprintf(", heap %d MB, %d MB per request", s.Heap>>20, s.Allocates>>20)
	}
	if s.Background > 0 {
		text += fmt.Sprintf(", %d x GOMAXPROCS busy goroutines", s.Background)
	}
	if s.Neighbour {
		text += ", beside a busy process"
	}
	return text
}
