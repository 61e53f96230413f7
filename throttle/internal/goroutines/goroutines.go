// Package goroutines counts goroutines, for suites that test what they were given.
package goroutines

import (
	"path"
	"reflect"
	"runtime"
	"strings"
)

// Of returns a func that counts the goroutines which were started by the package of a value's type, or run in it.
func Of(value any) func() int {
	t := reflect.TypeOf(value)
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	dir, name := path.Split(t.PkgPath())
	prefix := dir + strings.ReplaceAll(name, ".", "%2e") + "." // as stacks write it
	return func() int {
		n := 0
		for _, stack := range Stacks() {
			if strings.Contains(stack, "\n"+prefix) || strings.Contains(stack, "\ncreated by "+prefix) {
				n++
			}
		}
		return n
	}
}

// Stacks returns the stack of every goroutine.
func Stacks() []string {
	for size := 1 << 16; ; size *= 2 {
		text := make([]byte, size)
		if n := runtime.Stack(text, true); n < size {
			return strings.Split(string(text[:n]), "\n\n")
		}
	}
}
