// Flags switches a throttle by a feature flag: a provider of OpenFeature drives a control. The
// provider here is in memory. With one of a service, such as flagd, only SetProvider changes.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/open-feature/go-sdk/openfeature"
	"github.com/open-feature/go-sdk/openfeature/memprovider"

	"github.com/spillway-go/spillway/examples/internal/program"
	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/control"
)

const usage = `Flags switches a throttle by a feature flag of an OpenFeature provider, and prints what changes.

usage: go run ./examples/flags

It has no flags except -h, and prints the same each time.
`

func main() {
	os.Exit(command(context.Background(), os.Args[1:], os.Stdout, os.Stderr))
}

func command(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	if err := program.Parse(flag.NewFlagSet("flags", flag.ContinueOnError), args); err != nil {
		return program.Explain(stdout, stderr, "flags", usage, err)
	}
	return program.Conclude(stderr, "flags", run(ctx, stdout))
}

// run changes the flag a few times, one of them to a value that is wrong.
func run(ctx context.Context, out io.Writer) error {
	ctl, err := control.New(control.Config{})
	if err != nil {
		return err
	}
	defer ctl.Close()
	stock, err := throttle.New(throttle.Config{Name: "stock", Hooks: ctl.ThrottleHooks()})
	if err != nil {
		return err
	}
	defer stock.Close()

	provider := memprovider.NewInMemoryProvider(valued(map[string]any{}))
	if err := openfeature.SetProviderAndWait(provider); err != nil {
		return err
	}
	defer openfeature.Shutdown()
	done := make(chan struct{}, 1)
	follow(ctx, openfeature.NewClient("shop"), ctl, func(report control.Report, err error) {
		for _, c := range report.Changes {
			fmt.Fprintln(out, c)
		}
		if err != nil {
			fmt.Fprintln(out, "refused:", err)
		}
		done <- struct{}{}
	})
	<-done
	for _, line := range []map[string]any{
		{"mode": "off", "reason": "INC-7"},
		{"mode": "of"},
		{"ratio": 3, "minimum_rate": 10},
	} {
		provider.UpdateFlags(valued(map[string]any{"throttles": map[string]any{"stock": line}}))
		<-done
		fmt.Fprintln(out, "mode", stock.Stats().Mode, "ratio", stock.Stats().Ratio)
	}
	return nil
}

// valued returns flags in which the control document has a value.
func valued(document map[string]any) map[string]memprovider.InMemoryFlag {
	return map[string]memprovider.InMemoryFlag{flagName: {
		State: memprovider.Enabled, DefaultVariant: "now", Variants: map[string]any{"now": document},
	}}
}
