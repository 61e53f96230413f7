package breaker_test

import (
	"context"
	"reflect"
	"strings"
	"testing"

	"github.com/spillway-go/spillway/throttle/breaker"
)

// TestJoinHooksForgetsNone: JoinHooks calls every field of Hooks.
func TestJoinHooksForgetsNone(t *testing.T) {
	var called []string
	hooks := func(prefix string) breaker.Hooks {
		var h breaker.Hooks
		v := reflect.ValueOf(&h).Elem()
		for i := range v.NumField() {
			name := v.Type().Field(i).Name
			if name == "_" {
				continue
			}
			v.Field(i).Set(reflect.MakeFunc(v.Field(i).Type(), func([]reflect.Value) []reflect.Value {
				called = append(called, prefix+name)
				return nil
			}))
		}
		return h
	}
	joined := reflect.ValueOf(breaker.JoinHooks(hooks("1"), breaker.Hooks{}, hooks("2")))
	for i := range joined.NumField() {
		field := joined.Type().Field(i)
		if field.Name == "_" {
			continue
		}
		called = nil
		args := make([]reflect.Value, field.Type.NumIn())
		for a := range args {
			if field.Type.In(a) == reflect.TypeFor[context.Context]() {
				args[a] = reflect.ValueOf(t.Context())
				continue
			}
			args[a] = reflect.Zero(field.Type.In(a))
		}
		if joined.Field(i).IsNil() {
			t.Errorf("%s is nil", field.Name)
			continue
		}
		joined.Field(i).Call(args)
		if got, want := strings.Join(called, " "), "1"+field.Name+" 2"+field.Name; got != want {
			t.Errorf("%s: called %q, want %q", field.Name, got, want)
		}
	}
	none := reflect.ValueOf(breaker.JoinHooks(breaker.Hooks{}, breaker.Hooks{}))
	for i := range none.NumField() {
		if field := none.Type().Field(i); field.Name != "_" && !none.Field(i).IsNil() {
			t.Errorf("%s is not nil, though no hooks were joined", field.Name)
		}
	}
}
