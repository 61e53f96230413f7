//go:build !unix

package main

import "time"

// processorTime returns 0: only Unix reports it.
func processorTime() time.Duration { return 0 }
