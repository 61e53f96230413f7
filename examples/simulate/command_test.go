package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spillway-go/spillway/examples/internal/program"
	"github.com/spillway-go/spillway/examples/simulate/overload"
	"github.com/spillway-go/spillway/throttle"
)

// small makes a run quick.
const small = "-clients 2 -capacity 10 "

// simulate runs the command in this process, without a terminal and without a bubble.
func simulate(ctx context.Context, t *testing.T, args string) (code int, stdout, stderr string) {
	t.Helper()
	s := throttle.Must(parse(strings.Fields(args)))
	var out, errors bytes.Buffer
	code = command{settings: s, stdout: &out, stderr: &errors}.run(ctx)
	return code, out.String(), errors.String()
}

func TestCommandRepeatsItself(t *testing.T) {
	args := small + "-scenario outage,queue2 -policy none,sre,tiered,listening,fair,tiered-v1,adaptive -seeds 2 -format "
	for _, format := range []string{"table", "csv"} {
		args := args + format
		code, first, stderr := simulate(t.Context(), t, args)
		if code != program.Done || stderr != "" || first == "" {
			t.Errorf("%s: got exit code %d and %q, want %d and no words", format, code, stderr, program.Done)
		}
		if _, second, _ := simulate(t.Context(), t, args); second != first {
			t.Errorf("%s: got\n%s\nand then\n%s", format, first, second)
		}
	}
}

// TestCommandUsesFlags changes what can be changed, and expects other numbers.
func TestCommandUsesFlags(t *testing.T) {
	const base = small + "-scenario outage -policy tiered -format csv "
	_, plain, _ := simulate(t.Context(), t, base)
	for _, flags := range []string{
		"-clients 8", "-capacity 20", "-rejection-cost 1", "-ratio 1.1", "-minimum-rate 3", "-window 40s", "-seeds 2-2", "-scenario over5 -target 0.3",
	} {
		code, changed, _ := simulate(t.Context(), t, base+flags)
		if code != program.Done || changed == plain {
			t.Errorf("%s: got the same figures as without it", flags)
		}
	}
}

func TestCommandPlots(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out.svg")
	code, _, stderr := simulate(t.Context(), t, small+"-scenario outage,isolation-cold -policy none -plot "+path)
	if code != program.Done || !strings.HasPrefix(stderr, "simulate: not in the plot: isolation-cold: ") {
		t.Errorf("got exit code %d and %q, want %d and an error about isolation-cold", code, stderr, program.Done)
	}
	drawn := throttle.Must(os.ReadFile(path))
	for _, want := range []string{
		"outage · none", "capacity 0 %",
		"seconds", "% of calls that succeed", "High", "Important", "Medium", "Low", "goodput", "stroke:#0072B2",
	} {
		if !strings.Contains(string(drawn), want) {
			t.Errorf("got no %q in the plot", want)
		}
	}
	if strings.Contains(string(drawn), "(no run)") {
		t.Error("got an empty panel")
	}
}

func TestCommandFailsToWrite(t *testing.T) {
	var stderr bytes.Buffer
	s := throttle.Must(parse(strings.Fields(small + "-scenario outage -policy none")))
	if code := (command{settings: s, stdout: fullDisk{}, stderr: &stderr}).run(t.Context()); code != program.Failed {
		t.Errorf("got exit code %d, want %d", code, program.Failed)
	}
	equals(t, stderr.String(), "simulate: no space left\n", "a full disk")
	s.plot = filepath.Join(t.TempDir(), "gone", "out.svg") // its folder was removed during the runs
	stderr.Reset()
	if code := (command{settings: s, stdout: &bytes.Buffer{}, stderr: &stderr}).run(t.Context()); code != program.Failed {
		t.Errorf("got exit code %d for the plot, want %d", code, program.Failed)
	}
	if !strings.Contains(stderr.String(), "out.svg") {
		t.Errorf("got %q, want the plot's name", stderr.String())
	}
}

// TestCommandReportsFailedRuns plays a policy that needs a bubble where there is none.
func TestCommandReportsFailedRuns(t *testing.T) {
	code, out, stderr := simulate(t.Context(), t, small+"-scenario outage -policy gobreaker -seeds 7-7")
	if code != program.Failed || out != "" || !strings.HasPrefix(stderr, "simulate: outage with gobreaker, seed 7: ") {
		t.Errorf("got exit code %d, %q and %q, want %d, nothing and an error about gobreaker", code, out, stderr, program.Failed)
	}
}

// interruptAfter returns a context that ends when more clients have been made.
func interruptAfter(clients int, p overload.Policy) (context.Context, overload.Policy) {
	ctx, cancel := context.WithCancel(context.Background())
	made, newClient := 0, p.New
	p.New = func(e overload.Env) (overload.Client, error) {
		if made++; made > clients {
			cancel()
		}
		return newClient(e)
	}
	return ctx, p
}

func TestCommandInterrupted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out.svg")
	s := throttle.Must(parse(strings.Fields(small + "-scenario outage,surge -policy none,sre -seeds 5 -format csv -plot " + path)))
	ctx, slow := interruptAfter(3*s.options.Clients, s.policies[1]) // in the middle of its fourth run
	s.policies[1] = slow
	var out, stderr bytes.Buffer
	code := command{settings: s, stdout: &out, stderr: &stderr, workers: 1}.run(ctx)
	if want := "simulate: interrupted: the output is of 7 runs out of 20\n"; code != exitInterrupted || stderr.String() != want {
		t.Errorf("got exit code %d and %q, want %d and %q", code, stderr.String(), exitInterrupted, want)
	}
	rows := throttle.Must(csv.NewReader(&out).ReadAll())
	var got []string
	for _, row := range rows[1:] {
		got = append(got, strings.Join(row[:3], " "))
	}
	equals(t, strings.Join(got, ", "), "outage none 2, outage sre 2, surge none 2, surge sre 1", "rows")
	if drawn, err := os.ReadFile(path); err != nil || !strings.Contains(string(drawn), "surge · sre") {
		t.Errorf("got %v, want a plot of what was completed", err)
	}
}
