package breaker_test

import (
	"testing"

	"github.com/spillway-go/spillway/throttle/breaker"
	"github.com/spillway-go/spillway/throttle/internal/hook/hooktest"
)

func TestHooks_laws(t *testing.T) {
	hooktest.Laws[breaker.Hooks]{
		Join: breaker.JoinHooks, Set: breaker.SetDefaultHooks, Get: breaker.DefaultHooks,
		Create: func(h breaker.Hooks) { _ = agent(t, breaker.Config{Hooks: h}).Close() },
	}.Check(t)
}
