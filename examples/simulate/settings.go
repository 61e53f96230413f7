package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spillway-go/spillway/examples/internal/program"
	"github.com/spillway-go/spillway/examples/simulate/overload"
)

// usage is the text of -h.
const usage = `Simulate plays overloads of a backend on virtual time, and compares throttles in its clients.

usage: go run ./examples/simulate [flags]

What is played:
  -scenario list       scenarios or families, separated by commas, or all (default over5)
  -policy list         policies, separated by commas, or all (default sre,tiered)
  -seeds seeds         a count, such as 10 for the seeds 1 to 10 (default 1), a list such as 3,7, or a
                       range such as 11-20; at most 1000 seeds
  -retry list          retry rules, separated by commas, or all; each is played with each policy (default
                       that of the scenario: naive for over2-retries, over5-retries, retry20 and retry30,
                       none for others)
  -list                print all scenarios, policies and retry rules, and play no run

What is written:
  -format format       table (default) or csv; to the standard output
  -plot file           draw every run second by second into file.svg

Changes of every scenario:
  -clients n           clients, from 1 to 100000; each has its own throttle; pair keeps its two
  -capacity n          calls per second that the healthy backend serves, from 1 to 1e6; loads are
                       multiples of it
  -rejection-cost x    cost of a rejection for the backend, in served calls, from 0 to 1 (default 0.1)
  -certain             a backend that rejects a call for lack of capacity says so (throttle.Overloaded);
                       calls that fail for other reasons and timeouts say nothing

  -reports             a backend that has a throttle of its own, serves higher priorities first, and says its
                       load with each answer; the policy listening receives that

Changes of Spillway's own policies except tiered-v1; their documentation has the defaults, which 0 stands for:
  -ratio x             calls that may reach the backend for each that it accepts; more than 1, at most 1e6
  -minimum-rate x      calls per second and client that are always let through; more than 0, at most 1e9
  -window duration     how long outcomes count, from 1s to 1h
  -target x            share of rejections that tiered aims at, from 0.01 to 0.5
  -slow duration       how long a call may be open before it is late, from 1ms to 1h (default off)
  -slow-auto           learn -slow, and act if a queue grows (default off)
  -background x        share of rejections that tiered forgives, at most 0.5; negative for none

Ctrl-C ends the runs and prints the results of the completed ones; a second one ends at once. The exit
code is 0, 1 if a file or the output could not be written, 2 for a wrong flag, and 130 after Ctrl-C;
go run makes each of these a 1.

Examples:
  # Five times the load that the backend can serve, with two policies: which calls succeed?
  go run ./examples/simulate

  # With a throttle and without, five seeds each, and a picture
  go run ./examples/simulate -scenario over5,over10 -policy none,sre,tiered -seeds 5 -plot overload.svg

  # How does a shorter window change the recovery?
  go run ./examples/simulate -scenario outage -policy sre -window 15s -seeds 10

  # What do retries add to an outage?
  go run ./examples/simulate -scenario outage -retry none,naive,budget

  # All scenarios and policies, for a program to read
  go run ./examples/simulate -scenario all -policy all -seeds 10 -format csv > all.csv
`

func list(to io.Writer) error {
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "scenario\tfamily\tdescription")
	for _, s := range overload.Scenarios() {
		fmt.Fprintf(w, "%s\t%s\t%s\n", s.Name, s.Family, s.Title)
	}
	fmt.Fprintln(w, "\npolicy\tthrottle of each client")
	for _, p := range overload.Policies() {
		fmt.Fprintf(w, "%s\t%s\n", p.Name, p.Title)
	}
	fmt.Fprintln(w, "\nretry rule\twhat a client calls again; three attempts in all")
	for _, r := range overload.RetryRules() {
		fmt.Fprintf(w, "%s\t%s\n", r.Name, r.Title)
	}
	return w.Flush()
}

// settings are the values of the flags.
type settings struct {
	list      bool
	scenarios []overload.Scenario
	policies  []overload.Policy // after parse, each with each of the rules
	rules     []overload.RetryRule
	seeds     []uint64
	format    string
	plot      string
	options   overload.Options
}

// parse returns the settings of the arguments. Its error is flag.ErrHelp for -h.
func parse(args []string) (settings, error) {
	var s settings
	flags := newFlags(&s)
	if err := program.Parse(flags, args); err != nil {
		return s, err
	}
	err := errors.Join(s.checkPlot(), s.checkPolicies())
	s.policies = withRules(s.policies, s.rules)
	return s, err
}

// withRules returns each policy with each rule, or the policies as they are if there are no rules.
func withRules(policies []overload.Policy, rules []overload.RetryRule) []overload.Policy {
	if len(rules) == 0 {
		return policies
	}
	var all []overload.Policy
	for _, p := range policies {
		for _, r := range rules {
			all = append(all, r.Policy(p))
		}
	}
	return all
}

// newFlags sets the defaults of s, and returns flags that change s. The constant usage describes
// them.
func newFlags(s *settings) *flag.FlagSet {
	flags := flag.NewFlagSet("simulate", flag.ContinueOnError)
	s.seeds, s.format = []uint64{1}, "table"
	s.scenarios, _ = overload.FindScenarios("over5")
	s.policies, _ = overload.FindPolicies("sre,tiered")
	flags.BoolVar(&s.list, "list", false, "")
	flags.Func("scenario", "", listFlag(&s.scenarios, overload.FindScenarios))
	flags.Func("policy", "", listFlag(&s.policies, overload.FindPolicies))
	flags.Func("retry", "", listFlag(&s.rules, overload.FindRetryRules))
	flags.Func("seeds", "", listFlag(&s.seeds, parseSeeds))
	flags.Func("format", "", func(name string) error {
		if formats()[name] == nil {
			return errors.New("want table or csv")
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

func listFlag[T any](to *[]T, parse func(list string) ([]T, error)) func(list string) error {
	return func(list string) (err error) {
		*to, err = parse(list)
		return err
	}
}

// optionFlags declares the flags that change scenarios and policies.
func optionFlags(flags *flag.FlagSet, o *overload.Options) {
	flags.Func("clients", "", program.Whole(&o.Clients, 0, 100000, "clients, 0 for the scenario's"))
	flags.Func("capacity", "", setNumber(&o.Capacity, "1 to 1e6", func(x float64) bool { return x >= 1 && x <= 1e6 }))
	flags.Func("rejection-cost", "", func(text string) error {
		err := program.Number(&o.RejectionCost, 0, 1, "of a served call")(text)
		if err == nil && o.RejectionCost == 0 {
			o.RejectionCost = -1 // in overload.Options 0 means the default
		}
		return err
	})
	flags.BoolVar(&o.Certain, "certain", false, "")
	flags.BoolVar(&o.Reports, "reports", false, "")
	s := &o.Settings
	flags.Func("ratio", "", setNumber(&s.Ratio, "more than 1, at most 1e6", func(x float64) bool { return x > 1 && x <= 1e6 }))
	flags.Func("minimum-rate", "", setNumber(&s.MinimumRate, "more than 0, at most 1e9", func(x float64) bool { return x > 0 && x <= 1e9 }))
	flags.Func("background", "", setNumber(&s.Background, "at most 0.5, negative for none", func(x float64) bool { return x <= 0.5 }))
	flags.Func("target", "", setNumber(&s.TargetRejection, "0.01 to 0.5", func(x float64) bool { return x >= 0.01 && x <= 0.5 }))
	flags.Func("slow", "", setDuration(&s.Slow, time.Millisecond))
	flags.Func("window", "", setDuration(&s.Window, time.Second))
	flags.BoolVar(&s.SlowAuto, "slow-auto", false, "")
}

// setNumber returns the function of a flag that sets a good number, or 0.
func setNumber(to *float64, want string, good func(x float64) bool) func(text string) error {
	return func(text string) error {
		x, err := strconv.ParseFloat(text, 64)
		if err != nil || x != 0 && !good(x) {
			return fmt.Errorf("want %s, or 0 for the default", want)
		}
		*to = x
		return nil
	}
}

// setDuration returns the function of a flag that sets a duration up to 1h, or 0.
func setDuration(to *time.Duration, shortest time.Duration) func(text string) error {
	return func(text string) error {
		d, err := time.ParseDuration(text)
		if err != nil || d != 0 && (d < shortest || d > time.Hour) {
			return fmt.Errorf("want %v to 1h, or 0 for the default", shortest)
		}
		*to = d
		return nil
	}
}

// checkPlot returns an error if none of the scenarios can be plotted.
func (s *settings) checkPlot() error {
	if s.plot != "" && !slices.ContainsFunc(s.scenarios, plottable) {
		return errors.New("-plot: cannot plot " + unplottable(s.scenarios))
	}
	return nil
}

// checkPolicies makes a client of each policy of ours, because the policy itself checks its
// settings.
func (s *settings) checkPolicies() error {
	if err := s.options.Validate(); err != nil {
		return err
	}
	for _, p := range s.policies {
		if p.RealClock {
			continue // the policy of another library, which ignores the settings
		}
		env := overload.Env{Now: time.Now, Rand: func() float64 { return 0.5 }, Settings: s.options.Settings}
		if _, err := p.New(env); err != nil {
			return fmt.Errorf("policy %s with these values of its flags: %w", p.Name, err)
		}
	}
	return nil
}

// realClock reports whether a policy needs a bubble.
func (s *settings) realClock() bool {
	return slices.ContainsFunc(s.policies, func(p overload.Policy) bool { return p.RealClock })
}

// changes describes the flags that change every scenario and policy. It returns "" if none is set.
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
	add(o.Certain, "rejections that say that the backend is %s", "full")
	add(o.Reports, "a backend that %s its load", "says")
	add(o.Settings.Ratio != 0, "ratio %v", o.Settings.Ratio)
	add(o.Settings.MinimumRate != 0, "minimum rate %v/s", o.Settings.MinimumRate)
	add(o.Settings.Slow != 0, "calls late after %v", o.Settings.Slow)
	add(o.Settings.SlowAuto, "calls late after a %s time", "learned")
	add(o.Settings.Window != 0, "window %v", o.Settings.Window)
	add(o.Settings.TargetRejection != 0, "target %v", o.Settings.TargetRejection)
	add(o.Settings.Background != 0, "background %v", o.Settings.Background)
	if len(parts) == 0 {
		return ""
	}
	return "With " + strings.Join(parts, ", ") + "."
}
