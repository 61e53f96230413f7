package main

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spillway-go/spillway/examples/simulate/overload"
)

// usage returns what -h tells.
func usage() string {
	return `Simulate plays overloads of a backend on virtual time, and tells how its clients fare with different throttles.

usage: go run ./examples/simulate [flags]

What is played:
  -scenario list       scenarios or families, separated by commas, or all (default over5)
  -policy list         policies, separated by commas, or all (default sre,tiered)
  -seeds seeds         a count: 10 is the seeds 1 to 10 (default 1); or a list: 3,7; or a range: 11-20; 1000 at most
  -list                print all scenarios and policies, and play nothing

What is written:
  -format format       table (default), csv or json; to the standard output
  -plot file           draw every run second by second into file.svg or file.png

What is changed in every scenario:
  -clients n           clients, each with a throttle of its own, from 1 to 100000
  -capacity n          calls per second that the healthy backend serves, from 1 to 1e6; loads are multiples of it
  -rejection-cost x    what a rejection costs the backend, in served calls, from 0 to 1 (default 0.1)

What is changed in Spillway's own policies; their documentation has the defaults:
  -ratio x             calls that may reach the backend for each that it accepts; more than 1, at most 1e6
  -minimum-rate x      calls per second and client that are let through whatever happens; more than 0, at most 1e9
  -window duration     how long outcomes are remembered, from 1s to 1h
  -target x            share of rejections that tiered aims at, from 0.01 to 0.5

Ctrl-C ends the runs and prints what has been completed; a second one ends at once. The command exits with 0 if all is well, 1 if
something could not be written, 2 for flags that make no sense, and 130 after Ctrl-C; go run makes a 1 of all but 0.

Examples:
  # Five times the load that the backend can serve, with two policies: who succeeds?
  go run ./examples/simulate

  # With and without a throttle, five seeds each, and a picture of it
  go run ./examples/simulate -scenario over5,over10 -policy none,sre,tiered -seeds 5 -plot overload.svg

  # What a shorter window does to the recovery
  go run ./examples/simulate -scenario outage -policy sre -window 15s -seeds 10

  # All there is, for a program to read
  go run ./examples/simulate -scenario all -policy all -seeds 10 -format csv > all.csv
`
}

// list returns what -list tells.
func list() string {
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "scenario\tfamily\twhat happens")
	for _, s := range overload.Scenarios() {
		fmt.Fprintf(w, "%s\t%s\t%s\n", s.Name, s.Family, s.Title)
	}
	w.Flush()
	fmt.Fprintln(w, "\npolicy\twhat stands between clients and backend")
	for _, p := range overload.Policies() {
		fmt.Fprintf(w, "%s\t%s\n", p.Name, p.Title)
	}
	w.Flush()
	return text.String()
}
