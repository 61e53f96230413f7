package otelthrottle

import "github.com/spillway-go/spillway/throttle"

// WithProcess reports a process with this state.
func WithProcess(s throttle.ProcessorStats) Option {
	return option(func(c *config) { c.process = func() throttle.ProcessorStats { return s } })
}
