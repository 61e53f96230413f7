package main

import "github.com/spillway-go/spillway/dashboards/internal/grafana"

// limits is the dashboard of what holds itself back: who is denied tokens, whether the stores answer that are asked for them, and how far
// workers back off.
func limits() grafana.Dashboard {
	d := limitsFrame(limitsUID, "Limits", "Which requests for tokens are denied, by which token bucket, how fast tokens are spent and who waits for them, "+
		"whether the stores answer that keep them, and how far workers back off from services that throttle them.")
	d.Rows = []grafana.Row{
		{Title: "Token buckets now", Height: 4, Panels: bucketsNow()},
		{Title: "Token buckets, those that lack their store first", Height: 8, Panels: []grafana.Panel{bucketsTable()}},
		{Title: "Requests for tokens", Height: 9, Panels: requestPanels()},
		{Title: "Tokens", Height: 9, Panels: tokenPanels()},
		{Title: "Stores of token buckets", Height: 9, Panels: storePanels()},
		{Title: "Backoff", Height: 9, Panels: backoffPanels()},
		{Title: "Token buckets, per instance", Height: 9, Collapsed: true, Panels: bucketInstancePanels()},
		{Title: "Backoff, lines and instances", Height: 9, Collapsed: true, Panels: backoffInstancePanels()},
	}
	return d
}
