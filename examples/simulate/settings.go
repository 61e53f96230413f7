package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spillway-go/spillway/examples/simulate/overload"
)

// Settings are what the flags say.
type settings struct {
	list      bool
	scenarios []overload.Scenario
	policies  []overload.Policy
	seeds     []uint64
	format    string
	plot      string
	options   overload.Options
}

// parse returns what the arguments say, or what is wrong with them. Its error is flag.ErrHelp if they ask for help.
func parse(args []string) (settings, error) {
	var s settings
	flags := newFlags(&s)
	if err := flags.Parse(args); err != nil {
		return s, err
	}
	if flags.NArg() > 0 {
		return s, fmt.Errorf("%q is not a flag: flags begin with a hyphen, lists have no spaces", flags.Arg(0))
	}
	return s, errors.Join(s.checkPlot(), s.checkPolicies())
}

// newFlags returns flags that set s, with their defaults already set. Their usage is told by usage.
func newFlags(s *settings) *flag.FlagSet {
	flags := flag.NewFlagSet("simulate", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // main tells an error, without the whole usage after it
	s.seeds, s.format = []uint64{1}, "table"
	s.scenarios, _ = overload.FindScenarios("over5")
	s.policies, _ = overload.FindPolicies("sre,tiered")
	flags.BoolVar(&s.list, "list", false, "")
	flags.Func("scenario", "", setter(&s.scenarios, overload.FindScenarios))
	flags.Func("policy", "", setter(&s.policies, overload.FindPolicies))
	flags.Func("seeds", "", setter(&s.seeds, parseSeeds))
	flags.Func("format", "", func(name string) error {
		if formats()[name] == nil {
			return errors.New("want table, csv or json")
		}
		s.format = name
		return nil
	})
	flags.Func("plot", "", func(path string) error {
		s.plot = path
		return checkPath(path)
	})
	optionFlags(flags, &s.options)
	return flags
}

// setter returns a function that keeps what a list stands for.
func setter[T any](to *[]T, read func(list string) ([]T, error)) func(list string) error {
	return func(list string) (err error) {
		*to, err = read(list)
		return err
	}
}

// optionFlags declares the flags that change scenarios and policies.
func optionFlags(flags *flag.FlagSet, o *overload.Options) {
	number := func(name string, low, high float64, want string, set func(float64)) {
		flags.Func(name, "", func(text string) error {
			x, err := strconv.ParseFloat(text, 64)
			if err != nil || !(x >= low && x <= high) {
				return errors.New("want " + want)
			}
			set(x)
			return nil
		})
	}
	flags.Func("clients", "", func(text string) (err error) {
		if o.Clients, err = strconv.Atoi(text); err != nil || o.Clients < 1 || o.Clients > 100_000 {
			return errors.New("want a whole number from 1 to 100000")
		}
		return nil
	})
	number("capacity", 1, 1e6, "calls per second from 1 to 1e6", func(x float64) { o.Capacity = x })
	number("rejection-cost", 0, 1, "0 to 1", func(x float64) {
		if o.RejectionCost = x; x == 0 {
			o.RejectionCost = -1 // for overload 0 is the default
		}
	})
	above := math.Nextafter
	number("ratio", above(1, 2), 1e6, "more than 1, at most 1e6", func(x float64) { o.Settings.Ratio = x })
	number("minimum-rate", above(0, 1), 1e9, "calls per second, more than 0 and at most 1e9", func(x float64) { o.Settings.MinimumRate = x })
	number("target", 0.01, 0.5, "0.01 to 0.5", func(x float64) { o.Settings.TargetRejection = x })
	flags.Func("window", "", func(text string) (err error) {
		if o.Settings.Window, err = time.ParseDuration(text); err != nil || o.Settings.Window < time.Second || o.Settings.Window > time.Hour {
			return errors.New("want a duration such as 10s or 2m, from 1s to 1h")
		}
		return nil
	})
}

// checkPlot finds out whether there will be anything to draw.
func (s *settings) checkPlot() error {
	if s.plot != "" && !slices.ContainsFunc(s.scenarios, plottable) {
		return errors.New("-plot: cannot plot " + unplottable(s.scenarios))
	}
	return nil
}

// checkPolicies makes a client of each policy that has settings, because only it knows all about them.
func (s *settings) checkPolicies() error {
	if err := s.options.Validate(); err != nil {
		return err
	}
	for _, p := range s.policies {
		if p.RealClock {
			continue // other libraries, as they come
		}
		env := overload.Env{Now: time.Now, Rand: func() float64 { return 0.5 }, Settings: s.options.Settings}
		if _, err := p.New(env); err != nil {
			return fmt.Errorf("policy %s with -ratio, -minimum-rate, -window and -target as given: %w", p.Name, err)
		}
	}
	return nil
}

// realClock reports whether a policy needs a bubble.
func (s *settings) realClock() bool {
	return slices.ContainsFunc(s.policies, func(p overload.Policy) bool { return p.RealClock })
}

// changes says what was changed in every scenario and policy, or nothing.
func changes(o overload.Options) string {
	var parts []string
	add := func(changed bool, format string, value any) {
		if changed {
			parts = append(parts, fmt.Sprintf(format, value))
		}
	}
	add(o.Clients != 0, "%d clients", o.Clients)
	add(o.Capacity != 0, "a capacity of %v calls/s", o.Capacity)
	add(o.RejectionCost != 0, "rejections that cost %v of a served call", max(0, o.RejectionCost))
	add(o.Settings.Ratio != 0, "ratio %v", o.Settings.Ratio)
	add(o.Settings.MinimumRate != 0, "minimum rate %v/s", o.Settings.MinimumRate)
	add(o.Settings.Window != 0, "window %v", o.Settings.Window)
	add(o.Settings.TargetRejection != 0, "target %v", o.Settings.TargetRejection)
	if len(parts) == 0 {
		return ""
	}
	return "With " + strings.Join(parts, ", ") + "."
}
