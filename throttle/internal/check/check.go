// Package check validates the fields of a Config and fills in their defaults.
package check

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"
)

// MaxName is the longest name of a throttle, breaker, bucket or backoff, in bytes.
const MaxName = 255

// shownName is how many bytes of a name an error shows.
const shownName = 64

// Number is the type of a field with a range.
type Number interface {
	~int | ~int64 | ~float64
}

// Default returns value, or def if value is 0.
func Default[T Number](value, def T) T {
	if value == 0 {
		return def
	}
	return value
}

// Within reports whether lowest <= value <= highest. It is false for NaN.
func Within[T Number](value, lowest, highest T) bool {
	return value >= lowest && value <= highest
}

// Errors collects the invalid fields of one struct. Owner is the package and the struct: "throttle: Config".
type Errors struct {
	Owner string
	errs  []error
}

// Want records an error if ok is false: the field, its value, and the values that are allowed.
func (e *Errors) Want(ok bool, field string, value any, want string) {
	if !ok {
		e.errs = append(e.errs, fmt.Errorf("%s.%s is %v: want %s", e.Owner, field, value, want))
	}
}

// Span records an error if a duration is not within lowest and highest.
func (e *Errors) Span(field string, value, lowest, highest time.Duration) {
	e.Want(Within(value, lowest, highest), field, value, fmt.Sprintf("%v to %v", lowest, highest))
}

// Name records an error if a required name is missing or longer than MaxName.
func (e *Errors) Name(field, name string) {
	if name == "" {
		e.Missing(field, fmt.Sprintf("1 to %d bytes", MaxName))
		return
	}
	e.Want(len(name) <= MaxName, field, Shown(name), fmt.Sprintf("1 to %d bytes", MaxName))
}

// Missing records an error for a required field that is not set.
func (e *Errors) Missing(field, want string) {
	e.errs = append(e.errs, fmt.Errorf("%s.%s is missing: want %s", e.Owner, field, want))
}

// Add records err, unless it is nil.
func (e *Errors) Add(err error) {
	if err != nil {
		e.errs = append(e.errs, err)
	}
}

// Err returns all recorded errors joined, or nil if there are none.
func (e *Errors) Err() error { return errors.Join(e.errs...) }

// Shown quotes a name for an error. A long name is cut, and the result states its length.
func Shown(name string) string {
	if len(name) <= shownName {
		return fmt.Sprintf("%q", name)
	}
	return fmt.Sprintf("%q... (%d bytes)", name[:shownName], len(name))
}

// maxLogged is how many bytes of a value a log record has. It is more than an error has, because log records are
// searched by keys.
const maxLogged = 256

// Attr returns the attribute of a log record for a key or another value that may be long. A long value is cut.
func Attr(name, value string) slog.Attr {
	if len(value) > maxLogged {
		value = fmt.Sprintf("%s... (%d bytes)", strings.ToValidUTF8(value[:maxLogged], ""), len(value))
	}
	return slog.String(name, value)
}
