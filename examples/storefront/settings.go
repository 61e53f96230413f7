package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/spillway-go/spillway/examples/storefront/shop"
	"github.com/spillway-go/spillway/throttle"
)

// Settings are what the flags say.
type settings struct {
	listen      string
	open        bool
	healthcheck bool          // ask who listens there, and nothing else
	duration    time.Duration // 0 is until Ctrl-C
	shop        shop.Settings
	scenario    scenario
}

// parse returns what the arguments say, or what is wrong with them. Its error is flag.ErrHelp if they ask for help.
func parse(args []string) (settings, error) {
	s := settings{listen: "127.0.0.1:8080", shop: shop.Calm()}
	flags := flag.NewFlagSet("storefront", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // main tells an error, without the whole usage after it
	flags.BoolVar(&s.open, "open", false, "")
	flags.BoolVar(&s.healthcheck, "healthcheck", false, "")
	flags.Func("listen", "", s.setListen)
	flags.Func("duration", "", s.setDuration)
	flags.Func("load", "", number(&s.shop.Load, 0, shop.MaxLoad, "times the capacity"))
	flags.Func("capacity", "", number(&s.shop.Capacity, shop.MinCapacity, shop.MaxCapacity, "calls per second"))
	flags.Func("policy", "", s.setPolicy)
	flags.Func("scenario", "", s.setScenario)
	if err := flags.Parse(args); err != nil {
		return s, err
	}
	if flags.NArg() > 0 {
		return s, fmt.Errorf("%q is not a flag: flags begin with a hyphen", flags.Arg(0))
	}
	return s, s.checkHealthcheck(flags)
}

// checkHealthcheck refuses what means nothing to -healthcheck: whoever gives it has mistaken it for something that runs.
func (s *settings) checkHealthcheck(flags *flag.FlagSet) (err error) {
	if !s.healthcheck {
		return nil
	}
	flags.Visit(func(f *flag.Flag) {
		if f.Name != "healthcheck" && f.Name != "listen" {
			err = fmt.Errorf("-healthcheck asks a storefront that runs: leave out -%s, it goes with -listen only", f.Name)
		}
	})
	if _, port, _ := net.SplitHostPort(s.listen); err == nil && strings.Trim(port, "0") == "" {
		err = fmt.Errorf("-healthcheck needs the port that the storefront listens on: -listen is %s", s.listen)
	}
	return err
}

func (s *settings) setListen(address string) error {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return errors.New("want host:port, such as 127.0.0.1:8080")
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return errors.New("want a port from 0 to 65535")
	}
	s.listen = address
	return nil
}

func (s *settings) setDuration(text string) error {
	d, err := time.ParseDuration(text)
	if err != nil || d != 0 && (d < time.Second || d > 168*time.Hour) {
		return errors.New("want 0 for no end, or a duration such as 20s, from 1s to 168h")
	}
	s.duration = d
	return nil
}

// number returns a function that keeps a number from a range.
func number(to *float64, low, high float64, unit string) func(text string) error {
	return func(text string) error {
		x, err := strconv.ParseFloat(text, 64)
		if err != nil || !(x >= low && x <= high) {
			return fmt.Errorf("want %v to %v %s", low, high, unit)
		}
		*to = x
		return nil
	}
}

func (s *settings) setPolicy(word string) (err error) {
	s.shop.Policy, err = parsePolicy(word)
	return err
}

// parsePolicy returns the policy that a word stands for.
func parsePolicy(word string) (throttle.Policy, error) {
	for p := throttle.SRE; p <= throttle.Tiered; p++ {
		if p.String() == word {
			return p, nil
		}
	}
	return throttle.SRE, errors.New("want sre or tiered")
}

func (s *settings) setScenario(name string) error {
	sc, ok := findScenario(name)
	if !ok {
		return errors.New("want overload, outage, brownout, tour or none")
	}
	s.scenario = sc
	return nil
}
