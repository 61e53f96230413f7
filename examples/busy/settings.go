package main

import (
	"flag"
	"fmt"
	"time"

	"github.com/spillway-go/spillway/examples/internal/program"
)

const usage = `Busy overloads two servers with the same requests. One protects itself with Spillway.

usage: go run ./examples/busy [flags]

  -addr host:port  address of the page (default 127.0.0.1:8080); port 0 takes a free one
  -open            open the page in the browser
  -handler d       processor time that a request uses, from 1ms to 50ms (default 5ms)
  -load x          requests to each server, as a multiple of what it can answer, from 0 to 10
                   (default 3); the page can change it
  -seconds n       how long to run, from 1 to 86400 (default 0: until Ctrl-C)

The program prints a line per second. The exit code is 0, 1 if the command could not run, 2 for a
wrong flag.

Examples:
  # Open the page
  go run ./examples/busy -open

  # Twenty seconds in the terminal, at ten times what the servers can answer
  go run ./examples/busy -load 10 -seconds 20
`

// maxLoad is the highest load, as a multiple of the capacity.
const maxLoad = 10

// settings are the values of the flags.
type settings struct {
	address string
	open    bool
	handler time.Duration // processor time of a request
	load    float64
	seconds int // 0 is until Ctrl-C
}

// parse returns the settings of the arguments. Its error is flag.ErrHelp for -h.
func parse(args []string) (settings, error) {
	s := settings{address: "127.0.0.1:8080", handler: 5 * time.Millisecond, load: 3}
	flags := flag.NewFlagSet("busy", flag.ContinueOnError)
	flags.Func("addr", "", program.Address(&s.address, "127.0.0.1:8080"))
	flags.BoolVar(&s.open, "open", false, "")
	flags.Func("handler", "", s.setHandler)
	flags.Func("load", "", program.Number(&s.load, 0, maxLoad, "times the capacity"))
	flags.Func("seconds", "", program.Whole(&s.seconds, 0, 86400, "seconds"))
	return s, program.Parse(flags, args)
}

func (s *settings) setHandler(text string) error {
	d, err := time.ParseDuration(text)
	if err != nil || d < time.Millisecond || d > 50*time.Millisecond {
		return fmt.Errorf("want a duration such as 5ms, from 1ms to 50ms")
	}
	s.handler = d
	return nil
}
