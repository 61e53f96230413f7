package main

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spillway-go/spillway/examples/internal/program/programtest"
	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/control"

	"github.com/open-feature/go-sdk/openfeature"
	"github.com/open-feature/go-sdk/openfeature/memprovider"
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

// slowProvider changes the flag while it is first asked, and gives the value from before.
type slowProvider struct {
	*memprovider.InMemoryProvider
	asked  atomic.Bool
	change func()
}

func (p *slowProvider) ObjectEvaluation(
	ctx context.Context, flag string, none any, flat openfeature.FlattenedContext,
) openfeature.InterfaceResolutionDetail {
	value := p.InMemoryProvider.ObjectEvaluation(ctx, flag, none, flat)
	if !p.asked.Swap(true) {
		p.change()
	}
	return value
}

// TestFollow_inOrder applies the newest value last.
func TestFollow_inOrder(t *testing.T) {
	ctl := throttle.Must(control.New(control.Config{}))
	defer ctl.Close()
	line := func(mode string) map[string]memprovider.InMemoryFlag {
		return valued(map[string]any{"throttles": map[string]any{"stock": map[string]any{"mode": mode, "optional": true}}})
	}
	applied := make(chan string, 2)
	p := &slowProvider{InMemoryProvider: memprovider.NewInMemoryProvider(line("shadow"))}
	p.change = func() {
		p.UpdateFlags(line("off"))
		select {
		case early := <-applied:
			applied <- early
		case <-time.After(100 * time.Millisecond): // it waits for this value
		}
	}
	if err := openfeature.SetNamedProviderAndWait("slow", p); err != nil {
		t.Fatal(err)
	}
	follow(t.Context(), openfeature.NewClient("slow"), ctl, func(report control.Report, err error) { applied <- fmt.Sprint(report.Changes, err) })
	first, second := <-applied, <-applied
	if !strings.Contains(first, "shadow") || !strings.Contains(second, "off") {
		t.Errorf("got %s, then %s", first, second)
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
