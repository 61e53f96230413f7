// Benchmarks measures the cost of one call: of Spillway, of its peers, and of the least work that a
// throttle could do. All are interleaved on one machine. It prints medians, ratios, and a verdict for
// each bound of the design. The README explains the tables.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
)

// defaultRounds makes a run of about three minutes, without the stores.
const defaultRounds = 2200

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "benchmarks:", err)
		os.Exit(1)
	}
}

func run() error {
	rounds := flag.Int("rounds", defaultRounds, "slices to measure of each subject")
	only := flag.String("only", "", "measure only the subjects whose name matches this `regexp`, and floor S")
	flag.Parse()
	if *rounds < 1 || flag.NArg() > 0 {
		flag.Usage()
		return errors.New("want -rounds of at least 1, and no arguments")
	}
	wanted, err := regexp.Compile(*only)
	if err != nil {
		return err
	}
	subjects := choose(allSubjects(), wanted)
	p := newProgress(os.Stderr)
	results := measure(subjects, *rounds, p)
	return printTables(os.Stdout, append(report(results), stores(wanted, p)...))
}

// choose returns the subjects whose name matches, and floor S, which is the divisor of the ratios.
func choose(subjects []*subject, wanted *regexp.Regexp) []*subject {
	return slices.DeleteFunc(subjects, func(s *subject) bool { return s.name != floorS && !wanted.MatchString(s.name) })
}

// progress shows a text in place of the last one.
type progress func(text string)

// newProgress returns a progress that shows nothing unless f is a terminal.
func newProgress(f *os.File) progress {
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return quiet
	}
	return func(text string) { fmt.Fprint(f, "\r\x1b[K"+text) }
}

func quiet(string) {}
