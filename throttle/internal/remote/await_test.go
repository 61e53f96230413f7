package remote

import (
	"context"
	"runtime"
	"testing"
)

func TestAFunctionThatDoesNotReturnIsAnError(t *testing.T) {
	for name, f := range map[string]func(context.Context) (int, error){
		"panics":             func(context.Context) (int, error) { panic("boom") },
		"ends its goroutine": func(context.Context) (int, error) { runtime.Goexit(); return 1, nil },
	} {
		if n, err := Await(t.Context(), f, nil); err == nil || n != 0 {
			t.Errorf("%s: %d, %v", name, n, err)
		}
	}
	if n, err := Run(t.Context(), func(context.Context) (int, error) { panic("boom") }); err == nil || n != 0 {
		t.Errorf("Run: %d, %v", n, err)
	}
}
