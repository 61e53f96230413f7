package retry

import "errors"

// errNil is the error of calls on a nil or zero Retrier.
var errNil = errors.New("retry: nil or zero Retrier: make one with New")

// errNoFunction is the error of Do with a nil function.
var errNoFunction = errors.New("retry: nil function")
