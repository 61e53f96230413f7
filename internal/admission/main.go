// Admission measures what protects a busy Go server: a real server in a process of its own, under an open
// load. It prints a table with the good answers, the success of each priority and what was shed, for
// Spillway and its peers, and marks each bound of the design that is missed. The README explains it.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"
)

func main() {
	silence()
	run := program
	if role := os.Getenv(roleVariable); role != "" {
		run = func() error { return runChild(role) }
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "admission:", err)
		os.Exit(1)
	}
}

type settings struct {
	only        *regexp.Regexp
	subjects    []string
	length      time.Duration
	list        bool
	verbose     bool
	seed        uint64
	environment []string
	cgroup      string
}

func parse() (s settings, err error) {
	only := flag.String("only", "", "run only the rows whose name matches this `regexp`")
	subjects := flag.String("subject", "", "put only these before the handler: comma-separated `names` of "+strings.Join(allSubjects(), ", "))
	seconds := flag.Float64("seconds", 0, "measure steady rows for this `time` in place of their own")
	flag.BoolVar(&s.list, "list", false, "list the rows and their bounds")
	flag.BoolVar(&s.verbose, "v", false, "print each second of each row, and what its server wrote to stderr")
	flag.Uint64Var(&s.seed, "seed", 1, "`seed` of the arrivals")
	flag.Func("server-env", "`K=V` for the environment of the server; repeatable", func(pair string) error {
		if !strings.Contains(pair, "=") {
			return errors.New("want K=V")
		}
		s.environment = append(s.environment, pair)
		return nil
	})
	flag.StringVar(&s.cgroup, "server-cgroup", "", "`folder` of a cgroup that servers join, such as one with a quota")
	flag.Parse()
	if flag.NArg() > 0 || *seconds < 0 {
		return s, errors.New("want no arguments, and -seconds of at least 0")
	}
	if *subjects != "" {
		s.subjects = strings.Split(*subjects, ",")
	}
	for _, subject := range s.subjects {
		if !slices.Contains(allSubjects(), subject) {
			return s, fmt.Errorf("-subject is %q: want some of %s", subject, strings.Join(allSubjects(), ", "))
		}
	}
	s.length = time.Duration(*seconds * float64(time.Second))
	s.only, err = regexp.Compile(*only)
	return s, err
}

func program() error {
	s, err := parse()
	if err != nil {
		return err
	}
	rows := slices.DeleteFunc(allRows(), func(r row) bool { return !s.only.MatchString(r.name) })
	if s.list {
		for _, r := range rows {
			fmt.Printf("%-*s %s\n", nameWidth, r.name, strings.Trim(fmt.Sprint(r.bounds), "[]"))
		}
		return nil
	}
	runtime.GOMAXPROCS(1)
	b := &bench{perMillisecond: calibrate(), seed: s.seed, environment: s.environment, cgroup: s.cgroup, capacities: map[shape]float64{}, notes: os.Stdout}
	t := &table{out: os.Stdout}
	begin := time.Now()
	t.head()
	for _, r := range rows {
		if err := s.measure(b, t, r.withLength(s.length)); err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
	}
	fmt.Printf("\n%d of %d bounds missed, %v\n", t.missed, t.bounds, time.Since(begin).Round(time.Second))
	return nil
}

func (s settings) measure(b *bench, t *table, r row) error {
	subjects := r.subjects
	if s.subjects != nil {
		subjects = s.subjects
	}
	var none *run
	for _, subject := range subjects {
		if !speaks(subject, r.shape.Protocol) {
			continue
		}
		got, err := b.run(r, subject)
		if err != nil {
			return err
		}
		if subject == subjectNone {
			none = got
		}
		got.none = none
		t.line(got)
		if s.verbose {
			t.series(got)
		}
	}
	return nil
}
