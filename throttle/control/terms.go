package control

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/internal/check"
)

const (
	// longestHTTP is the longest time for which a change over HTTP holds.
	longestHTTP = 24 * time.Hour
	// maxText is the longest By and Reason, in bytes.
	maxText = 500
)

// Terms are the fields that every line of a [Document] has.
type Terms struct {
	// Until is when the line ends by itself. Default: it ends when it is removed.
	Until time.Time `json:"until,omitzero"`
	// For is how long the line holds, from now on, in place of Until. A file cannot have it,
	// because it would start again with each process.
	For throttle.Duration `json:"for,omitempty"`
	// Changed is when the line was last changed, for [LastChange]. Default: when the file was written, if
	// the line is in it from the start of the process, and else when the line came.
	Changed time.Time `json:"changed,omitzero"`
	// By is the name of the operator. Over HTTP it is the result of Authorize.
	By string `json:"by,omitempty"`
	// Reason is shown wherever the change is shown. Required over HTTP.
	Reason string `json:"reason,omitempty"`
	// Optional allows a name that no throttle of this process has had yet, such as one that another
	// service has, or one that is made by the first call. Without it such a name is an error.
	Optional bool `json:"optional,omitempty"`
}

func (t *Terms) terms() *Terms { return t }

// resolve sets Until from For, and returns an error for terms that a source cannot have.
func (t *Terms) resolve(source throttle.Source, now time.Time) error {
	switch {
	case len(t.By) > maxText:
		return fmt.Errorf("by has %d bytes: want at most %d", len(t.By), maxText)
	case len(t.Reason) > maxText:
		return fmt.Errorf("reason has %d bytes: want at most %d", len(t.Reason), maxText)
	case t.For < 0:
		return fmt.Errorf("for is %v: want more than 0", t.For)
	case t.For > 0 && !t.Until.IsZero():
		return errors.New("for and until are both set: want one")
	case t.For > 0 && source == throttle.SourceFile:
		return errors.New("for is set in a file: want until, because each process would count from its own start")
	case t.For > 0:
		t.Until, t.For = now.Add(time.Duration(t.For)).UTC().Truncate(time.Millisecond), 0
	}
	if source == throttle.SourceHTTP {
		return t.checkHTTP(now)
	}
	return nil
}

// checkHTTP returns an error for a change that could be forgotten: it is in one process, and in no
// file.
func (t *Terms) checkHTTP(now time.Time) error {
	switch left := t.Until.Sub(now); {
	case t.Reason == "":
		return errors.New("reason is missing")
	case t.Until.IsZero():
		return errors.New("for is missing: want a duration such as 30m, at most 24h; use the file for longer")
	case left <= 0:
		return fmt.Errorf("until is %s: want a time in the future", t.Until.Format(time.RFC3339))
	case left > longestHTTP:
		return fmt.Errorf("until is %s: want at most 24h from now; use the file for longer", t.Until.Format(time.RFC3339))
	}
	return nil
}

// hasEnded reports whether the time of a line has ended.
func (t *Terms) hasEnded(now time.Time) bool { return !t.Until.IsZero() && !now.Before(t.Until) }

// checkName returns an error for a name that cannot be that of a throttle, or that looks like a
// path.
func checkName(name string) error {
	switch {
	case name == "" || len(name) > check.MaxName:
		return fmt.Errorf("name has %d bytes: want 1 to %d", len(name), check.MaxName)
	case !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl):
		return errors.New("name has control characters or is not UTF-8")
	case slices.Contains(strings.FieldsFunc(name, func(r rune) bool { return r == '/' || r == '\\' }), ".."):
		return errors.New("name is a path with ..: want the name of a throttle")
	}
	return nil
}
