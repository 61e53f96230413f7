package control

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// value is a setting of a line, as text.
type value struct{ name, text string }

// values returns the settings of a line that are set.
func values(l any) (all []value) {
	v := reflect.ValueOf(l).Elem()
	for i := 1; i < v.NumField(); i++ { // field 0 is Terms
		if f := v.Field(i); !f.IsNil() {
			name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
			all = append(all, value{name, fmt.Sprint(f.Elem().Interface())})
		}
	}
	return all
}

// deltas returns the settings whose values differ.
func deltas(before, after []Setting) []Delta {
	all := []Delta{}
	find := func(settings []Setting, name string) string {
		if i := slices.IndexFunc(settings, func(s Setting) bool { return s.Name == name }); i >= 0 {
			return settings[i].Value
		}
		return ""
	}
	for _, s := range after {
		if old := find(before, s.Name); old != s.Value {
			all = append(all, Delta{s.Name, old, s.Value})
		}
	}
	for _, s := range before { // of a name without a member
		if find(after, s.Name) == "" {
			all = append(all, Delta{s.Name, s.Value, ""})
		}
	}
	return all
}

// clone returns a copy of a line, so that its owner cannot change it later. Settings are never
// written.
func clone[L any](l L) L {
	copied := reflect.New(reflect.TypeOf(l).Elem())
	copied.Elem().Set(reflect.ValueOf(l).Elem())
	return copied.Interface().(L)
}
