package breaker_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/spillway-go/spillway/throttle/breaker"
)

func TestSetDefaultHooks(t *testing.T) {
	t.Cleanup(func() { breaker.SetDefaultHooks(breaker.Hooks{}) })
	var defaults, own []string
	record := func(names *[]string) breaker.Hooks {
		return breaker.Hooks{Created: func(m *breaker.Manager) { *names = append(*names, m.Name()) }}
	}
	create := func(name string, h breaker.Hooks) { _ = agent(t, breaker.Config{Name: name, Hooks: h}).Close() }
	create("before", breaker.Hooks{})
	breaker.SetDefaultHooks(record(&defaults))
	create("without hooks", breaker.Hooks{})
	create("with hooks", record(&own))
	create("joined", breaker.JoinHooks(breaker.DefaultHooks(), record(&own)))
	breaker.SetDefaultHooks(breaker.Hooks{})
	create("after", breaker.Hooks{})
	if got, want := strings.Join(defaults, ", "), "without hooks, joined"; got != want {
		t.Errorf("default hooks: got %s, want %s", got, want)
	}
	if got, want := strings.Join(own, ", "), "with hooks, joined"; got != want {
		t.Errorf("own hooks: got %s, want %s", got, want)
	}
}

// TestAnyHookReplacesTheDefaultHooks sets each field of Hooks alone.
func TestAnyHookReplacesTheDefaultHooks(t *testing.T) {
	t.Cleanup(func() { breaker.SetDefaultHooks(breaker.Hooks{}) })
	created := 0
	breaker.SetDefaultHooks(breaker.Hooks{Created: func(*breaker.Manager) { created++ }})
	for i := range reflect.TypeFor[breaker.Hooks]().NumField() {
		var h breaker.Hooks
		field := reflect.ValueOf(&h).Elem().Field(i)
		if field.Kind() != reflect.Func {
			continue
		}
		field.Set(reflect.MakeFunc(field.Type(), func([]reflect.Value) []reflect.Value { return nil }))
		_ = agent(t, breaker.Config{Hooks: h}).Close()
		if created > 0 {
			t.Errorf("field %d: the default hooks were called", i)
		}
	}
}
