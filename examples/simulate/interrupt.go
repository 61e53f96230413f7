package main

import (
	"context"
	"math"

	"github.com/zeromicro/go-zero/core/logx"
	"github.com/zeromicro/go-zero/core/proc"

	"github.com/spillway-go/spillway/examples/internal/program"
)

// interruptible returns a context that ends with Ctrl-C, or when the program is asked to end otherwise. The next time it ends
// at once.
//
// One of the peers, go-zero, listens for signals from the moment it is imported: it would log to the standard output, into the
// middle of our CSV, and kill the program after some seconds. So it is made silent and patient here.
func interruptible() context.Context {
	logx.Disable()
	proc.SetTimeToForceQuit(math.MaxInt64)
	return program.Interruptible()
}
