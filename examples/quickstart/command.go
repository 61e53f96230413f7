package main

import (
	"context"
	"flag"
	"io"

	"github.com/spillway-go/spillway/examples/internal/program"
)

// usage is what -h tells.
const usage = `Quickstart runs the code of the README's first page against a backend that is made to struggle, and prints what becomes of the calls.

usage: go run ./examples/quickstart

It has no flags but -h, and prints the same each time.
`

// command runs the program, and returns what it ends with.
func command(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	if err := program.Parse(flag.NewFlagSet("quickstart", flag.ContinueOnError), args); err != nil {
		return program.Explain(stdout, stderr, "quickstart", usage, err)
	}
	return program.Conclude(stderr, "quickstart", run(ctx, stdout))
}
