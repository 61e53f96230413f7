// Package rules runs the cases of the rules for Prometheus in dashboards/rules with promtool. It is a package of its own
// because they need minutes of a processor, and go test runs them again only if one of these files has changed.
package rules
