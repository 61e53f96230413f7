package main

import "github.com/spillway-go/spillway/dashboards/internal/grafana"

// limits is the dashboard of what holds itself back: who is denied tokens, whether the stores answer that are asked for them, and how far
// workers back off.
func limits() grafana.Dashboard {
	d := limitsFrame(limitsUID, "Limits", "Which token buckets deny requests, how fast tokens are spent, how "+
		"many requests wait, whether the stores answer, and how far workers back off from services that "+
		"throttle them.")
	d.Rows = []grafana.Row{
		{Title: "Token buckets now", Height: 4, Panels: bucketsNow()},
		{Title: "Token buckets, worst first", Height: 8, Panels: []grafana.Panel{bucketsTable()}},
		{Title: "Requests for tokens", Height: 9, Panels: requestPanels()},
		{Title: "Tokens", Height: 9, Panels: tokenPanels()},
		{Title: "Stores of token buckets", Height: 9, Panels: storePanels()},
		{Title: "Backoff", Height: 9, Panels: backoffPanels()},
		{Title: "Token buckets, per instance", Height: 9, Collapsed: true, Panels: bucketInstancePanels()},
		{Title: "Backoff, waiting and instances", Height: 9, Collapsed: true, Panels: backoffInstancePanels()},
	}
	return d
}
