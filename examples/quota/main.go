// Quota shows a quota that several processes share: a partner allows so many calls a second, and whoever calls more is refused. The command
// starts the processes itself, kills one of them and takes their store away. It needs nothing but Go. -h tells the flags.
package main

import (
	"os"

	"github.com/spillway-go/spillway/examples/internal/program"
)

func main() {
	if isMember() {
		os.Exit(beMember(os.Stdin, os.Stdout))
	}
	s, err := parse(os.Args[1:])
	if err != nil {
		os.Exit(program.Explain(os.Stdout, os.Stderr, "quota", usage, err))
	}
	os.Exit(command{settings: s, stdout: os.Stdout, stderr: os.Stderr}.run(program.Interruptible()))
}
