package throttle_test

import (
	"strings"
	"testing"

	"github.com/spillway-go/spillway/throttle"
)

func TestSetDefaultHooks(t *testing.T) {
	t.Cleanup(func() { throttle.SetDefaultHooks(throttle.Hooks{}) })
	var defaults, own []string
	record := func(names *[]string) throttle.Hooks {
		return throttle.Hooks{Created: func(th *throttle.Throttle) { *names = append(*names, th.Name()) }}
	}
	build(t, throttle.Config{Name: "before"})
	throttle.SetDefaultHooks(record(&defaults))
	build(t, throttle.Config{Name: "without hooks"})
	build(t, throttle.Config{Name: "with hooks", Hooks: record(&own)})
	build(t, throttle.Config{Name: "joined", Hooks: throttle.JoinHooks(throttle.DefaultHooks(), record(&own))})
	throttle.SetDefaultHooks(throttle.Hooks{})
	build(t, throttle.Config{Name: "after"})
	equal(t, "default hooks", strings.Join(defaults, ", "), "without hooks, joined")
	equal(t, "own hooks", strings.Join(own, ", "), "with hooks, joined")
}
