package main

import (
	"github.com/spillway-go/spillway/dashboards/internal/grafana"
	"github.com/spillway-go/spillway/throttle"
)

// The uids are part of every link, so they never change.
const (
	overviewUID     = "throttle-overview"
	availabilityUID = "throttle-availability"
	breakersUID     = "throttle-breakers"
	limitsUID       = "throttle-limits"
	backoffsUID     = "throttle-backoffs"

	// place are the variables that every dashboard has.
	place = "${datasource:queryparam}&${cluster:queryparam}&${namespace:queryparam}"

	// rowPlace are those of the row of a table that a link is in.
	rowPlace = "${datasource:queryparam}&var-cluster=${__data.fields.place:raw}"

	tag      = "spillway"
	runbooks = "https://github.com/spillway-go/spillway/blob/main/dashboards/runbooks.md"
)

// throttleBoard returns a dashboard of throttles, without rows. Its annotations are on the panels.
func throttleBoard(uid, title, description string, marked ...string) grafana.Dashboard {
	d := newBoard(uid, title, description)
	d.Variables = variables()
	d.Annotations = []grafana.Annotation{beginnings(throttleScope(), marked...), changesOf("throttle", "throttle", marked...)}
	return d
}

// newBoard returns a dashboard without variables, annotations and rows.
func newBoard(uid, title, description string) grafana.Dashboard {
	return grafana.Dashboard{
		UID: uid, Title: "Throttle / " + title, Description: description, Tags: []string{tag, "throttle"}, Links: boardLinks(uid),
	}
}

// boardLinks returns the links at the top of a dashboard. They carry only variables that the other
// dashboard has: a job without breakers would empty the dashboard of breakers.
func boardLinks(from string) []grafana.Link {
	of := func(uid string) bool { return uid == overviewUID || uid == availabilityUID }
	var links []grafana.Link
	for _, to := range []struct{ uid, title string }{
		{overviewUID, "Overview"}, {availabilityUID, "Availability"}, {breakersUID, "Breakers"}, {limitsUID, "Limits"}, {backoffsUID, "Backoffs"},
	} {
		link := grafana.Link{Title: to.title, URL: "/d/" + to.uid + "?" + place}
		if of(from) && of(to.uid) {
			link.URL += "&${job:queryparam}&${instance:queryparam}&${throttle:queryparam}&${priority:queryparam}"
		}
		if to.uid != from {
			links = append(links, link)
		}
	}
	return append(links, grafana.Link{Title: "Runbooks", URL: runbooks, NewTab: true})
}

// placeVariables returns the variables for the data source, and for the cluster and the namespace,
// which many services do not have.
func placeVariables(of string) []grafana.Variable {
	return []grafana.Variable{
		grafana.Datasource(),
		grafana.Optional("cluster", "Cluster", "All, if no service has this label.", of),
		grafana.Text("namespace", "Namespace", "A regular expression; .* is all, also those without this label."),
	}
}

// variables returns the variables of a dashboard of throttles. Each offers the values that are left
// by those before it.
func variables() []grafana.Variable {
	return append(placeVariables(string(requests())),
		grafana.Query("job", "Job", "The services whose throttles are shown.", requests().where(selectedPlace()...), "job"),
		grafana.Text("instance", "Instance", "Processes of these services. A regular expression."),
		grafana.Query("throttle", "Throttle", "Usually one per backend.", requests().where(selectedJob()...), throttleName()),
		grafana.Several("priority", "Priority", "Panels about all priorities ignore this.",
			throttle.High.String(), throttle.Important.String(), throttle.Medium.String(), throttle.Low.String()),
	)
}

// breakerVariables returns the variables of a dashboard of breakers.
func breakerVariables() []grafana.Variable {
	return append(placeVariables(string(leader())),
		grafana.Query("job", "Job", "The services whose breakers are shown.", leader().where(selectedPlace()...), "job"),
		grafana.Text("instance", "Instance", "Processes of these services. Each reports the circuits of the whole fleet. A regular expression."),
		grafana.Query("breaker", "Breaker", "One breaker has a circuit for each endpoint.", leader().where(selectedJob()...), breakerName()),
	)
}

// limitsVariables returns the variables of a dashboard of token buckets.
func limitsVariables() []grafana.Variable {
	return append(placeVariables(string(bucketRequests())),
		grafana.Query("job", "Job", "The services whose token buckets are shown.", bucketRequests().where(selectedPlace()...), "job"),
		grafana.Text("instance", "Instance", "Processes of these services. Processes with one store share its tokens. A regular expression."),
		grafana.Query("bucket", "Bucket", "A limit, with one bucket per key.", bucketRequests().where(selectedJob()...), bucketName()),
	)
}

// backoffVariables returns the variables of a dashboard of backoffs.
func backoffVariables() []grafana.Variable {
	return append(placeVariables(string(backoffCalls())),
		grafana.Query("job", "Job", "The services whose backoffs are shown.", backoffCalls().where(selectedPlace()...), "job"),
		grafana.Text("instance", "Instance", "Processes of these services. Each has a delay of its own. A regular expression."),
		grafana.Query("backoff", "Backoff", "A service that workers back off from.", backoffCalls().where(selectedJob()...), backoffName()),
	)
}

// toOverview and toAvailability return links to a dashboard that keep the selected variables.
func toOverview() grafana.Link     { return dashboardLink(overviewUID, "What is shed and why") }
func toAvailability() grafana.Link { return dashboardLink(availabilityUID, "Faults by kind") }

func dashboardLink(uid, title string) grafana.Link {
	return grafana.Link{Title: title, URL: "/d/" + uid + "?" + place + "&${job:queryparam}&${instance:queryparam}" +
		"&${throttle:queryparam}&${__url_time_range}"}
}

// toThrottle returns a link from a row of a table to its throttle.
func toThrottle(uid, title string) grafana.Link {
	return grafana.Link{Title: title, URL: "/d/" + uid + "?" + rowPlace + "&var-job=${__data.fields.job:percentencode}" +
		"&var-throttle=${__data.fields." + throttleName() + ":percentencode}&${__url_time_range}"}
}

// toBreaker returns a link from a row of a table to its breaker.
func toBreaker(title string) grafana.Link {
	return grafana.Link{Title: title, URL: "/d/" + breakersUID + "?" + rowPlace + "&var-job=${__data.fields.job:percentencode}" +
		"&var-breaker=${__data.fields." + breakerName() + ":percentencode}&${__url_time_range}"}
}

// toBucket returns a link from a row of a table to its token bucket.
func toBucket(title string) grafana.Link {
	return grafana.Link{Title: title, URL: "/d/" + limitsUID + "?" + rowPlace + "&var-job=${__data.fields.job:percentencode}" +
		"&var-bucket=${__data.fields." + bucketName() + ":percentencode}&${__url_time_range}"}
}

// toBackoff returns a link from a row of a table to its backoff.
func toBackoff(title string) grafana.Link {
	return grafana.Link{Title: title, URL: "/d/" + backoffsUID + "?" + rowPlace + "&var-job=${__data.fields.job:percentencode}" +
		"&var-backoff=${__data.fields." + backoffName() + ":percentencode}&${__url_time_range}"}
}
