// Package monitoring tests the dashboards, the rules and the compose stack with a real Prometheus and
// Alertmanager. It parses every expression of the panels, variables, annotations, rules and alerts.
//
//   - The metrics, labels and label values of an expression must exist in the library.
//   - A Prometheus scrapes a storefront, and throttles with unusual names, through an overload and an
//     outage. Every expression must then return series.
//   - Alerts must fire, be delivered, inhibit each other as documented, and resolve.
package monitoring
