// Command summary reads the output of make test with go test -json in it and prints what a reader wants to see: package
// results, the output of failed tests, and last the line "N passed, N failed". It fails if a test failed or was skipped for
// lack of a server (a reason that starts with "needs ").
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
)

// How many lines of one failed test are shown, and of all; the log has the rest.
const (
	maxOutput = 60
	maxShown  = 300
	maxSaid   = 5 // things that one failed test said, once more at the end
)

// logged matches what a test says about itself, such as why it is skipped.
var logged = regexp.MustCompile(`^\s*\S+\.go:\d+: (.*)`)

// An event is one line of go test -json; see go doc test2json.
type event struct {
	Action, Package, ImportPath, Test, Output, FailedBuild string

	Elapsed float64
}

// A test is one test or subtest of a package; an empty name stands for the package itself, or for its failed build.
type test struct{ pkg, name string }

// A summary collects the events of one log, in which a test may run more than once.
type summary struct {
	output map[test][]string // of what is still running
	failed map[test]bool     // every test that ended, and whether it ever failed
	broken map[string]bool   // packages with a failed test, so that their own failure is not counted again
	shown  int               // lines of failures printed so far
	blame  []string          // what failed, with what each test said of it, for the end
}

func main() {
	s := summary{output: map[test][]string{}, failed: map[test]bool{}, broken: map[string]bool{}}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 16<<20)
	stopped := false
	for lines.Scan() {
		var e event
		if line := lines.Text(); json.Unmarshal([]byte(line), &e) == nil && e.Action != "" {
			s.add(e)
		} else if !strings.HasPrefix(line, "go: downloading ") {
			fmt.Println(line)
			stopped = stopped || strings.HasPrefix(line, "make: *** ")
		}
	}
	if err := lines.Err(); err != nil {
		fmt.Println("summary:", err)
		os.Exit(1)
	}
	passed, failed := s.count()
	if failed == 0 && stopped {
		failed = 1 // a step before the tests: install, gofmt, vet, staticcheck
	}
	for _, line := range s.blame {
		fmt.Println(line)
	}
	fmt.Printf("%d passed, %d failed\n", passed, failed)
	if failed > 0 {
		os.Exit(1)
	}
}

// count returns how many tests always passed and how many failed at least once.
func (s *summary) count() (passed, failed int) {
	for _, bad := range s.failed {
		if bad {
			failed++
		} else {
			passed++
		}
	}
	return passed, failed
}

// add takes one event into account and prints what it says to the reader.
func (s *summary) add(e event) {
	t := test{e.Package, e.Test}
	switch e.Action {
	case "output":
		s.output[t] = append(s.output[t], e.Output)
		return
	case "build-output":
		t = test{e.ImportPath, ""}
		s.output[t] = append(s.output[t], e.Output)
		return
	case "pass":
		s.pass(t, e.Elapsed)
	case "fail":
		s.fail(t, e)
	case "skip":
		s.skip(t)
	default:
		return
	}
	delete(s.output, t)
}

func (s *summary) pass(t test, elapsed float64) {
	if t.name == "" {
		fmt.Printf("ok    %s  %.2fs\n", t.pkg, elapsed)
		return
	}
	s.failed[t] = s.failed[t] // keeps an earlier failure
}

func (s *summary) fail(t test, e event) {
	if t.name == "" {
		fmt.Printf("FAIL  %s  %.2fs\n", t.pkg, e.Elapsed)
		if s.broken[t.pkg] {
			return
		}
		if e.FailedBuild != "" && e.FailedBuild != t.pkg {
			s.show(s.output[test{e.FailedBuild, ""}])
		}
	}
	s.broken[t.pkg], s.failed[t] = true, true
	s.show(s.output[t])
	s.remember(t)
}

// remember keeps the first things that a failed test said. A reader of the end of a long log sees them, whatever its servers said after them.
func (s *summary) remember(t test) {
	s.blame = append(s.blame, strings.TrimSpace("FAILED "+t.pkg+" "+t.name))
	said := 0
	for _, line := range s.output[t] {
		if said < maxSaid && logged.MatchString(line) {
			s.blame = append(s.blame, "    "+strings.TrimSpace(line))
			said++
		}
	}
}

// skip reports a skipped test, and counts it as failed if it lacked a server: this run has to have them all.
func (s *summary) skip(t test) {
	if t.name == "" {
		return // a package without tests
	}
	reason := "no reason given"
	for _, line := range s.output[t] {
		if match := logged.FindStringSubmatch(line); match != nil {
			reason = match[1]
		}
	}
	if strings.HasPrefix(reason, "needs ") {
		s.failed[t], s.broken[t.pkg] = true, true
	}
	fmt.Printf("SKIP  %s %s: %s\n", t.pkg, t.name, reason)
}

// show prints the first lines of a failure.
func (s *summary) show(output []string) {
	for i, line := range output {
		if i == maxOutput || s.shown == maxShown {
			fmt.Printf("    ... %d more lines in the log\n", len(output)-i)
			return
		}
		fmt.Print("    ", line)
		s.shown++
	}
}
