// Package hooktest checks what the hooks of every package have in common.
package hooktest

import (
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"weak"
)

// Laws has the functions of one package. Create makes a member with these hooks. Reversed is the hook of which the last
// joined one is called first, if there is one.
type Laws[H any] struct {
	Join     func(...H) H
	Set      func(H)
	Get      func() H
	Create   func(H)
	Reversed string
}

// recorder returns hooks of which each field adds its name, behind the prefix, to called. If only is not empty, the other
// fields are nil.
func recorder[H any](called *[]string, prefix, only string) (h H) {
	v := reflect.ValueOf(&h).Elem()
	for i := range v.NumField() {
		field := v.Type().Field(i)
		if field.Name == "_" || only != "" && field.Name != only {
			continue
		}
		v.Field(i).Set(reflect.MakeFunc(field.Type, func(args []reflect.Value) []reflect.Value {
			*called = append(*called, prefix+field.Name)
			return args[:field.Type.NumOut()]
		}))
	}
	return h
}

// Check checks all laws: also for fields that are added later. A hook may return what it gets first.
func (l Laws[H]) Check(t *testing.T) {
	t.Helper()
	var none H
	t.Cleanup(func() { l.Set(none) })
	l.checkJoin(t)
	l.checkDefaults(t)
	var work sync.WaitGroup // for the race detector
	for range 4 {
		work.Go(func() { l.Set(none) })
		work.Go(func() { l.Create(none) })
		work.Go(func() { l.Get() })
	}
	work.Wait()
}

// checkJoin checks that joined hooks are called in order, that a field that none sets stays nil, and that joining keeps its
// arguments.
func (l Laws[H]) checkJoin(t *testing.T) {
	t.Helper()
	var called []string
	var empty H
	parts := []H{recorder[H](&called, "1", ""), empty, recorder[H](&called, "2", "")}
	joined := reflect.ValueOf(l.Join(parts...))
	parts[0] = empty
	none := reflect.ValueOf(l.Join(empty, empty))
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
		want := []string{"1" + field.Name, "2" + field.Name}
		if field.Name == l.Reversed {
			slices.Reverse(want)
		}
		if !slices.Equal(called, want) {
			t.Errorf("%s of joined hooks: got the calls %q want %q", field.Name, called, want)
		}
		if !none.Field(i).IsNil() {
			t.Errorf("%s of no hooks: got a function want nil", field.Name)
		}
	}
}

// checkDefaults checks that the default hooks are those of members made while they are set, without any hook of their own.
func (l Laws[H]) checkDefaults(t *testing.T) {
	t.Helper()
	var called []string
	var none H
	fields := reflect.TypeFor[H]()
	l.Create(none)
	l.Set(recorder[H](&called, "default ", "Created"))
	l.Create(none)
	for i := range fields.NumField() {
		if name := fields.Field(i).Name; name != "_" && name != "Created" {
			l.Create(recorder[H](new([]string), "", name))
		}
	}
	l.Create(l.Join(l.Get(), recorder[H](&called, "own ", "Created")))
	l.Set(none)
	l.Create(none)
	if got, want := strings.Join(called, ", "), "default Created, default Created, own Created"; got != want {
		t.Errorf("default hooks: got the calls %s want %s", got, want)
	}
}

// Collected checks that nothing keeps a member that was closed, while the hooks that it had are kept.
func Collected[H, M any](t *testing.T, hooks H, closed func(H) *M) {
	t.Helper()
	gone := weak.Make(closed(hooks))
	runtime.GC()
	runtime.GC()
	if gone.Value() != nil {
		t.Errorf("got a closed %T still there, want it collected", gone.Value())
	}
	runtime.KeepAlive(hooks)
}
