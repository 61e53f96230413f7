// Package monitoring tests the dashboards, the rules and the compose stack against the programs that they are made for. Every
// expression of every panel, variable, annotation, rule and alert is read as those programs read it: first it must speak of metrics,
// labels and words that the library really has; then a Prometheus scrapes a storefront and more throttles under names that
// nobody would like, an overload and an outage are driven, and the expression must find something. Alerts must fire, reach
// somebody, mute each other as promised, and resolve.
package monitoring
