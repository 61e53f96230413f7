package main

import (
	"errors"
	"flag"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/spillway-go/spillway/examples/internal/program"
	"github.com/spillway-go/spillway/examples/storefront/shop"
)

// usage is the text of -h.
const usage = `Storefront shows a backend that fails under overload without a throttle, and keeps working with one.

usage: go run ./examples/storefront [flags]

  -listen address      address of the page (default 127.0.0.1:8080); port 0 takes a free one
  -open                open the page in the browser
  -duration d          how long to run, such as 20s: 1s to 168h (default 0: until Ctrl-C)
  -healthcheck         check the storefront that runs at -listen, and start none: exit with 0 if it
                       answers within 2 s, else with 1. Only -listen may be set too. It is for
                       containers, whose image has no other program to make the request

The settings at the start; the page can change all of them:
  -load x              calls offered, as a multiple of the capacity: 0 to 10 (default 0.8)
  -capacity n          calls per second that the backend can serve: 50 to 2000 (default 400)
  -policy name         sre or tiered (default tiered)
  -scenario name       changes of load and backend, until a visitor changes one of them on the page
                       (default none):
                         overload   3 s of calm, then four times the capacity until the end
                         outage     5 s of calm, 10 s with the backend down, 15 s of calm; repeated
                         brownout   the same with a backend that has lost three quarters of its
                                    capacity instead
                         slow       5 s of calm, 15 s with a backend whose calls take ten times as
                                    long, 15 s of calm; repeated
                         tour       makes alerts fire and resolve: 2 min of calm, 5 min of four times
                                    the capacity, 10 min of calm, 4 min of the same load with the
                                    backend down, 10 min of calm; repeated
                         none       no changes

The program prints a line per second, and a summary at the end. The page links to /metrics, for
Prometheus, with exemplars, and to /debug/throttle. Alerts that an Alertmanager sends to the webhook
/alerts are printed between the lines. Traces are sent if OTEL_EXPORTER_OTLP_ENDPOINT or
OTEL_EXPORTER_OTLP_TRACES_ENDPOINT is set.

Ctrl-C ends the run and prints the summary; a second one ends at once. The exit code is 0, 1 if the
command could not run, 2 for a wrong flag; go run makes that a 1.

Examples:
  # Open the page
  go run ./examples/storefront -open

  # Twenty seconds in the terminal: which calls succeed at four times the capacity?
  go run ./examples/storefront -duration 20s -scenario overload
`

// settings are the values of the flags.
type settings struct {
	listen      string
	open        bool
	healthcheck bool          // only check the storefront that runs at listen
	duration    time.Duration // 0 is until Ctrl-C
	shop        shop.Settings
	scenario    scenario
}

// parse returns the settings of the arguments. Its error is flag.ErrHelp for -h.
func parse(args []string) (settings, error) {
	s := settings{listen: "127.0.0.1:8080", shop: shop.Calm()}
	flags := flag.NewFlagSet("storefront", flag.ContinueOnError)
	flags.BoolVar(&s.open, "open", false, "")
	flags.BoolVar(&s.healthcheck, "healthcheck", false, "")
	flags.Func("listen", "", program.Address(&s.listen, "127.0.0.1:8080"))
	flags.Func("duration", "", program.Days(&s.duration))
	flags.Func("load", "", program.Number(&s.shop.Load, 0, shop.MaxLoad, "times the capacity"))
	flags.Func("capacity", "", program.Number(&s.shop.Capacity, shop.MinCapacity, shop.MaxCapacity, "calls per second"))
	flags.TextVar(&s.shop.Policy, "policy", s.shop.Policy, "")
	flags.Func("scenario", "", s.setScenario)
	if err := program.Parse(flags, args); err != nil {
		return s, err
	}
	return s, s.checkHealthcheck(flags)
}

// checkHealthcheck returns an error for flags that have no effect with -healthcheck.
func (s *settings) checkHealthcheck(flags *flag.FlagSet) (err error) {
	if !s.healthcheck {
		return nil
	}
	flags.Visit(func(f *flag.Flag) {
		if f.Name != "healthcheck" && f.Name != "listen" {
			err = fmt.Errorf("-healthcheck starts no storefront: leave out -%s, only -listen may be set too", f.Name)
		}
	})
	if _, port, _ := net.SplitHostPort(s.listen); err == nil && strings.Trim(port, "0") == "" {
		err = fmt.Errorf("-healthcheck needs the port of the storefront: -listen is %s: want a port from 1 to 65535", s.listen)
	}
	return err
}

func (s *settings) setScenario(name string) error {
	sc, ok := findScenario(name)
	if !ok {
		return errors.New("want overload, outage, brownout, slow, tour or none")
	}
	s.scenario = sc
	return nil
}
