package throttle_test

import (
	"testing"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/internal/hook/hooktest"
)

func TestHooks_laws(t *testing.T) {
	hooktest.Laws[throttle.Hooks]{
		Join: throttle.JoinHooks, Set: throttle.SetDefaultHooks, Get: throttle.DefaultHooks, Reversed: "Finished",
		Create: func(h throttle.Hooks) { build(t, throttle.Config{Hooks: h}) },
	}.Check(t)
}
