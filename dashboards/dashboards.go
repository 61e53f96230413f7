// Package dashboards carries Spillway's Grafana dashboards, its Prometheus rules and what to do when one of them fires, so that they
// come with the version of the library whose metrics they read, and a program can hand them on:
//
//	overview.json        what is offered, admitted and shed, of which priority, and why
//	availability.json    faults by kind, the objective of High and how fast its budget burns, alerts
//	breakers.json        circuits, what they refuse, and the fleet that decides about them
//	limits.json          token buckets, whom they deny, the stores that keep them, and backoffs
//	rules/               recording rules and alerts for Prometheus
//	kubernetes/          the same as ConfigMaps and a PrometheusRule
//	provisioning/        data sources and folders for a Grafana that finds them itself
//	prometheus/, alertmanager/   configurations of the compose stack, to learn from
//	runbooks.md          a heading per alert: what it means, and what to do
//
// The dashboards ask for the metrics of github.com/spillway-go/spillway/otelthrottle as Prometheus shows them. They need none of the
// rules; the alerts need the recording rules. README.md beside this file says how to import each of them.
//
// The JSON and the files for Kubernetes are generated: change the program in gen, not them.
package dashboards

import "embed"

//go:generate go run ./gen

// FS holds all files, by their paths in this folder.
//
//go:embed *.json rules/recording.yml rules/alerts.yml kubernetes provisioning prometheus alertmanager runbooks.md README.md
var FS embed.FS
