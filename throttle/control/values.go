package control

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

type value struct{ name, text string }

func values(p any) (all []value) {
	v := reflect.ValueOf(p)
	for i := range v.NumField() {
		if f := v.Field(i); !f.IsNil() {
			all = append(all, value{nameOf(v.Type().Field(i)), fmt.Sprint(f.Elem().Interface())})
		}
	}
	return all
}

// valuesOf returns the settings that a patch P can set: the fields of u that have the same names.
func valuesOf[P any](u any) (all []value) {
	for _, f := range reflect.VisibleFields(reflect.TypeFor[P]()) {
		all = append(all, value{nameOf(f), fmt.Sprint(reflect.ValueOf(u).FieldByName(f.Name).Interface())})
	}
	return all
}

func nameOf(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

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
