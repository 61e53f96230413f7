// Package install renders the Helm chart and the kustomize base of the monitoring, and runs what Prometheus makes of them.
package install
