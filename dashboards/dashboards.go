// Package dashboards embeds the Grafana dashboards, Prometheus rules and runbooks of Spillway. They
// fit the metrics of the library version in your build:
//
//	overview.json        calls that fail, and calls sent and shed, by priority and cause
//	availability.json    faults by kind, the objective of High, its error budget, alerts
//	breakers.json        circuits, the calls they shed, and the fleet that decides
//	limits.json          token buckets and their stores
//	backoffs.json        backoffs
//	rules/               recording rules and alerts for Prometheus
//	kubernetes/, kustomization.yaml   the same for Kubernetes
//	provisioning/        data sources and folders for a provisioned Grafana
//	prometheus/, alertmanager/   example configurations of the compose stack
//	collector/           an example for the OpenTelemetry Collector
//	runbooks.md          one section per alert: what it means and what to do
//
// The dashboards use the metrics of github.com/spillway-go/spillway/otelthrottle under their
// Prometheus names. They do not need the rules. The alerts need the recording rules. README.md in
// this folder describes how to import each of them.
//
// The JSON files and two files in kubernetes are generated. To change them, change the program in
// gen.
package dashboards

import "embed"

//go:generate go run ./gen

// FS has all files, by their paths in this folder.
//
//go:embed *.json kustomization.yaml rules/recording.yml rules/alerts.yml rules/objectives.yml kubernetes provisioning prometheus alertmanager collector runbooks.md README.md
var FS embed.FS
