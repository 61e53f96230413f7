package retry

import "errors"

var errNil = errors.New("retry: nil or zero Retrier: make one with New")

var errNoFunction = errors.New("retry: nil function")
