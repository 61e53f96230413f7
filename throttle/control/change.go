package control

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/internal/enum"
)

// Result is what became of a change.
type Result uint8

const (
	// Applied means that the line is in force.
	Applied Result = iota
	// Ended means that the line was removed, or that its time has ended.
	Ended
	// Refused means that a document was wrong, and that nothing was changed.
	Refused

	// NumResults is the number of results.
	NumResults = iota
)

// String returns "applied", "ended" or "refused".
func (r Result) String() string { return enum.Name("result", r, "applied ended refused") }

// MarshalText returns the word of the result, or an error if the result is not defined.
func (r Result) MarshalText() ([]byte, error) { return enum.Marshal(r, Applied, Refused) }

// UnmarshalText reads the word of a result. For any other text it returns an error that lists the
// words, and does not change r.
func (r *Result) UnmarshalText(text []byte) error { return enum.Unmarshal(r, text, Applied, Refused) }

// Report is what [Control.Apply] has changed.
type Report struct {
	// Changes has each line that is new, different or gone.
	Changes []Change `json:"changes"`
	// Missing has the names that nothing in this process has yet, such as "throttle stock": optional
	// ones, and those of clients before their first call.
	Missing []string `json:"missing,omitempty"`
}

// Change is a line of a document that began, changed or ended.
type Change struct {
	Kind      string          `json:"kind"` // throttle, breaker, bucket, backoff or retry
	Name      string          `json:"name"`
	Instances int             `json:"instances"` // throttles of that name now
	Source    throttle.Source `json:"source"`
	Result    Result          `json:"result"`
	Values    []Delta         `json:"values"`       // that are different in force now
	By        string          `json:"by,omitempty"` // who set the line, or who ended it by a request
	Reason    string          `json:"reason,omitempty"`
	Until     time.Time       `json:"until,omitzero"`

	changed time.Time // as the line says
	known   bool      // the name had a member, or was announced
}

// Delta is a value before and after a change. A value is empty if nothing of that name exists yet.
type Delta struct {
	Name string `json:"name"` // mode, ratio, ...
	Old  string `json:"old"`
	New  string `json:"new"`
}

// String returns the change in one line.
func (c Change) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s: %s", c.Kind, c.Name, c.Result)
	for _, d := range c.Values {
		fmt.Fprintf(&b, ", %s %s -> %s", d.Name, orUnknown(d.Old), orUnknown(d.New))
	}
	fmt.Fprintf(&b, ", source %s", c.Source)
	if c.By != "" {
		fmt.Fprintf(&b, ", by %q", c.By)
	}
	if c.Reason != "" {
		fmt.Fprintf(&b, ", reason %q", c.Reason)
	}
	if !c.Until.IsZero() {
		fmt.Fprintf(&b, ", until %s", c.Until.UTC().Format(time.RFC3339))
	}
	return b.String()
}

func orUnknown(value string) string { return cmp.Or(value, "(none yet)") }

// values returns what a patch sets.
func values(p any) (all []Setting) {
	v := reflect.ValueOf(p)
	for i := range v.NumField() {
		if f := v.Field(i); !f.IsNil() {
			all = append(all, Setting{Name: nameOf(v.Type().Field(i)), Value: fmt.Sprint(f.Elem().Interface())})
		}
	}
	return all
}

// valuesOf returns the settings of the code that a patch P can set: the fields of u that have the same names.
func valuesOf[P any](u any) (all []Setting) {
	for _, f := range reflect.VisibleFields(reflect.TypeFor[P]()) {
		text := fmt.Sprint(reflect.ValueOf(u).FieldByName(f.Name).Interface())
		all = append(all, Setting{Name: nameOf(f), Value: text, Code: text})
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

// clone returns a copy of a line and of its settings, so that its owner can change both later.
func clone[L any](l L) L {
	copied := reflect.New(reflect.TypeOf(l).Elem())
	copied.Elem().Set(reflect.ValueOf(l).Elem())
	settings := copied.Elem().FieldByName("Patch")
	for i := range settings.NumField() {
		if f := settings.Field(i); !f.IsNil() {
			value := reflect.New(f.Type().Elem())
			value.Elem().Set(f.Elem())
			f.Set(value)
		}
	}
	return copied.Interface().(L)
}
