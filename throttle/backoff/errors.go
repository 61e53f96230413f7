package backoff

import (
	"errors"

	"github.com/spillway-go/spillway/throttle"
)

// ErrClosed is the error of a wait that [Responsive.Close] ended, or that begins after it.
// errors.Is(err, [throttle.ErrShed]) is true for it too, because the call was not made.
var ErrClosed error = &shedError{"backoff: closed"}

var errNil = errors.New("backoff: nil or zero Responsive: make one with New")

var errNoFunction = errors.New("backoff: nil function")

// shedError is the error of a call that was not made. It matches throttle.ErrShed.
type shedError struct{ text string }

func (e *shedError) Error() string        { return e.text }
func (e *shedError) Is(target error) bool { return target == throttle.ErrShed }
