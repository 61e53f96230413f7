package main

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/open-feature/go-sdk/openfeature"

	"github.com/spillway-go/spillway/throttle/control"
)

// flagName is the flag whose value is a control document.
const flagName = "spillway-control"

// follow applies the flag now, and each time that the provider reports a change. Applied is called
// with the result of each. The SDK calls handlers at the same time, so that without the lock an older value may be
// applied after a newer one.
func follow(ctx context.Context, client *openfeature.Client, ctl *control.Control, applied func(control.Report, error)) {
	var mu sync.Mutex
	look := func(openfeature.EventDetails) {
		mu.Lock()
		defer mu.Unlock()
		applied(applyFlag(ctx, client, ctl))
	}
	client.AddHandler(openfeature.ProviderConfigChange, &look)
	look(openfeature.EventDetails{})
}

// applyFlag applies the value of the flag. If the provider does not answer, what is in force stays.
func applyFlag(ctx context.Context, client *openfeature.Client, ctl *control.Control) (control.Report, error) {
	value, err := client.ObjectValue(ctx, flagName, nil, openfeature.EvaluationContext{})
	if err != nil {
		return control.Report{}, fmt.Errorf("flag %s: %w", flagName, err)
	}
	text, err := json.Marshal(value)
	if err != nil {
		return control.Report{}, fmt.Errorf("flag %s: %w", flagName, err)
	}
	document, err := control.ParseDocument(text)
	if err != nil {
		return control.Report{}, fmt.Errorf("flag %s: %w", flagName, err)
	}
	return ctl.Apply(ctx, document)
}
