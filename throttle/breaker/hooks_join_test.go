package breaker_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/spillway-go/spillway/throttle/breaker"
)

// hooks returns hooks that write down their names, with a prefix. If only is not empty, all others
// are nil.
func hooks(called *[]string, prefix, only string) (h breaker.Hooks) {
	v := reflect.ValueOf(&h).Elem()
	for i := range v.NumField() {
		field := v.Type().Field(i)
		if field.Name == "_" || only != "" && field.Name != only {
			continue
		}
		v.Field(i).Set(reflect.MakeFunc(field.Type, func([]reflect.Value) []reflect.Value {
			*called = append(*called, prefix+field.Name)
			return nil
		}))
	}
	return h
}

// TestEveryHook checks for each field of Hooks that JoinHooks calls it in order, that it stays nil if
// none is joined, and that it alone replaces the default hooks.
func TestEveryHook(t *testing.T) {
	var called, defaults []string
	joined := reflect.ValueOf(breaker.JoinHooks(hooks(&called, "1", ""), breaker.Hooks{}, hooks(&called, "2", "")))
	none := reflect.ValueOf(breaker.JoinHooks(breaker.Hooks{}, breaker.Hooks{}))
	t.Cleanup(func() { breaker.SetDefaultHooks(breaker.Hooks{}) })
	breaker.SetDefaultHooks(hooks(&defaults, "", ""))
	for i := range joined.NumField() {
		field := joined.Type().Field(i)
		if field.Name == "_" {
			continue
		}
		called = nil
		args := make([]reflect.Value, field.Type.NumIn())
		for a := range args {
			args[a] = reflect.Zero(field.Type.In(a))
		}
		joined.Field(i).Call(args)
		if got, want := strings.Join(called, " "), "1"+field.Name+" 2"+field.Name; got != want {
			t.Errorf("%s: called %q, want %q", field.Name, got, want)
		}
		if !none.Field(i).IsNil() {
			t.Errorf("%s is not nil, though no hooks were joined", field.Name)
		}
		if _ = agent(t, breaker.Config{Hooks: hooks(&called, "", field.Name)}).Close(); len(defaults) > 0 {
			t.Errorf("%s: the default hooks %v were called", field.Name, defaults)
		}
	}
}

func TestSetDefaultHooks(t *testing.T) {
	t.Cleanup(func() { breaker.SetDefaultHooks(breaker.Hooks{}) })
	var called []string
	create := func(h breaker.Hooks) { agent(t, breaker.Config{Hooks: h}) }
	create(breaker.Hooks{})
	breaker.SetDefaultHooks(hooks(&called, "default ", "Created"))
	create(breaker.Hooks{})
	create(breaker.JoinHooks(breaker.DefaultHooks(), hooks(&called, "own ", "Created")))
	breaker.SetDefaultHooks(breaker.Hooks{})
	create(breaker.Hooks{})
	if got, want := strings.Join(called, ", "), "default Created, default Created, own Created"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
