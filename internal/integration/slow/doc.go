// Package slow tests throttle.Config.Slow with a backend whose calls take longer, the more are open.
// Source, service and backend are processes of their own. The package has only tests.
package slow
