package main

import (
	"bytes"
	"testing"

	"github.com/spillway-go/spillway/examples/internal/program/programtest"
	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/control"

	"github.com/open-feature/go-sdk/openfeature"
)

func TestRun(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	want := `throttle stock: applied, mode enforce -> off, source apply, reason "INC-7"
mode off ratio 2
refused: flag spillway-control: control: document, line 1: throttle.Mode is "of": want enforce, shadow or off
mode off ratio 2
throttle stock: applied, mode off -> enforce, ratio 2 -> 3, minimum_rate 1 -> 10, source apply
mode enforce ratio 3
`
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
}

// TestApplyFlag_withoutProvider keeps what is in force.
func TestApplyFlag_withoutProvider(t *testing.T) {
	ctl := throttle.Must(control.New(control.Config{}))
	defer ctl.Close()
	if err := openfeature.SetNamedProviderAndWait("none", openfeature.NoopProvider{}); err != nil {
		t.Fatal(err)
	}
	if report, err := applyFlag(t.Context(), openfeature.NewClient("none"), ctl); err == nil || len(report.Changes) > 0 {
		t.Errorf("got %v, %v want an error", report, err)
	}
}

func TestCommand(t *testing.T) {
	programtest.Explains(t, command)
}
