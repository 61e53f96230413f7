// Batch shows a job whose workers share one backoff and one bucket. They write to a table that bears so many units a second, and throttles what is
// more, as DynamoDB does. The table grows under load, is made smaller again, and at last bears
// anything. It needs nothing but Go. -h tells the flags.
package main

import (
	"os"

	"github.com/spillway-go/spillway/examples/internal/program"
)

func main() {
	s, err := parse(os.Args[1:])
	if err != nil {
		os.Exit(program.Explain(os.Stdout, os.Stderr, "batch", usage, err))
	}
	os.Exit(command{settings: s, stdout: os.Stdout, stderr: os.Stderr}.run(program.Interruptible()))
}
