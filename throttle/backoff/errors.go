package backoff

import (
	"errors"

	"github.com/spillway-go/spillway/throttle"
)

// ErrClosed is what waiting returns once the Responsive is closed. It is [throttle.ErrShed] too: the call was not made, which says nothing
// about a service.
var ErrClosed error = &refusal{"backoff: closed"}

// errNil answers calls on a Responsive that did not come from New.
var errNil = errors.New("backoff: nil or zero Responsive: make one with New")

// errNoFunction answers calls of a nil function.
var errNoFunction = errors.New("backoff: nil function")

// refusal is an error of what was not done, and not by a service's doing.
type refusal struct{ text string }

func (e *refusal) Error() string        { return e.text }
func (e *refusal) Is(target error) bool { return target == throttle.ErrShed }
