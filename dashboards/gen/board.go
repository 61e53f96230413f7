package main

import "github.com/spillway-go/spillway/dashboards/internal/grafana"

// The uids are part of every link, so they never change.
const (
	overviewUID     = "throttle-overview"
	availabilityUID = "throttle-availability"
	breakersUID     = "throttle-breakers"
	limitsUID       = "throttle-limits"

	tag      = "spillway"
	runbooks = "https://github.com/spillway-go/spillway/blob/main/dashboards/runbooks.md"
)

// throttleBoard returns a dashboard of throttles, without rows.
func throttleBoard(uid, title, description string) grafana.Dashboard {
	d := newBoard(uid, title, description)
	d.Variables = variables()
	d.Annotations = alertAnnotations(alerts(equals("alertstate", "firing")), throttleName(), errorType())
	return d
}

// breakerBoard returns a dashboard of breakers, without rows.
func breakerBoard(uid, title, description string) grafana.Dashboard {
	d := newBoard(uid, title, description)
	d.Variables = breakerVariables()
	d.Annotations = alertAnnotations(breakerAlerts(equals("alertstate", "firing")), breakerName(), failure())
	return d
}

// limitsBoard returns a dashboard of token buckets and backoffs, without rows.
func limitsBoard(uid, title, description string) grafana.Dashboard {
	d := newBoard(uid, title, description)
	d.Variables = limitsVariables()
	d.Annotations = alertAnnotations(limitsAlerts(equals("alertstate", "firing")), bucketName(), backoffName())
	return d
}

// alertAnnotations marks on all graphs when alerts fired. The text of a mark has these labels.
func alertAnnotations(firing string, labels ...string) []grafana.Annotation {
	text := "{{severity}} {{job}}"
	for _, l := range labels {
		text += " {{" + l + "}}"
	}
	return []grafana.Annotation{{Name: "Alerts", Color: "red", Query: firing, Title: "{{alertname}}", Text: text}}
}

// newBoard returns a dashboard without variables, annotations and rows.
func newBoard(uid, title, description string) grafana.Dashboard {
	return grafana.Dashboard{
		UID: uid, Title: "Throttle / " + title, Description: description, Tags: []string{tag, "throttle"},
		Links: []grafana.Link{
			{Title: "Throttle dashboards", Tag: tag},
			{Title: "Runbooks", URL: runbooks, NewTab: true},
		},
	}
}

// variables returns the variables of a dashboard of throttles. Each offers the values that are left
// by those before it.
func variables() []grafana.Variable {
	return []grafana.Variable{
		grafana.Datasource(),
		grafana.Query("job", "Job", "The services whose throttles are shown.", string(requests()), "job"),
		grafana.Query("instance", "Instance", "Processes of these services.", requests().where(matches("job", "$job")), "instance"),
		grafana.Query("throttle", "Throttle", "Usually one per backend.", requests().where(selectedJob()...), throttleName()),
		grafana.Query("priority", "Priority", "Panels about all priorities ignore this.",
			requests().of(), priority()),
	}
}

// breakerVariables returns the variables of a dashboard of breakers.
func breakerVariables() []grafana.Variable {
	return []grafana.Variable{
		grafana.Datasource(),
		grafana.Query("job", "Job", "The services whose breakers are shown.", string(leader()), "job"),
		grafana.Query("instance", "Instance", "Processes of these services. Each reports the circuits of the whole fleet.", leader().where(matches("job", "$job")), "instance"),
		grafana.Query("breaker", "Breaker", "One breaker has a circuit for each endpoint.", leader().where(selectedJob()...), breakerName()),
	}
}

// limitsVariables returns the variables of a dashboard of token buckets and backoffs. A service may
// have only one of the two.
func limitsVariables() []grafana.Variable {
	both := []metric{bucketRequests(), backoffCalls()}
	return []grafana.Variable{
		grafana.Datasource(),
		grafana.Query("job", "Job", "The services whose token buckets and backoffs are shown.", anyOf(both), "job"),
		grafana.Query("instance", "Instance", "Processes of these services. Processes with one store share its tokens.", anyOf(both, matches("job", "$job")), "instance"),
		grafana.Query("bucket", "Bucket", "A limit, with one bucket per key.", bucketRequests().where(selectedJob()...), bucketName()),
		grafana.Query("backoff", "Backoff", "A service that workers back off from.", backoffCalls().where(selectedJob()...), backoffName()),
	}
}

// alerts selects the alerts about the selected throttles. Alerts about a whole service have no
// label instance, and alerts about a target have no throttle_name.
func alerts(conditions ...matcher) string {
	return metric("ALERTS").where(append([]matcher{
		matches("alertname", "Throttle.+"), matches("job", "$job"), selectedOrNone("instance", "instance"),
		selectedOrNone(throttleName(), "throttle"),
	}, conditions...)...)
}

// breakerAlerts selects the alerts about the selected breakers.
func breakerAlerts(conditions ...matcher) string {
	return metric("ALERTS").where(append([]matcher{
		matches("alertname", "ThrottleBreaker.+"), matches("job", "$job"), selectedOrNone("instance", "instance"),
		selectedOrNone(breakerName(), "breaker"),
	}, conditions...)...)
}

// limitsAlerts selects the alerts about the selected token buckets and backoffs.
func limitsAlerts(conditions ...matcher) string {
	return metric("ALERTS").where(append([]matcher{
		matches("alertname", "Throttle(Bucket|Backoff).+"), matches("job", "$job"), selectedOrNone("instance", "instance"),
		selectedOrNone(bucketName(), "bucket"), selectedOrNone(backoffName(), "backoff"),
	}, conditions...)...)
}

// toOverview and toAvailability return links to a dashboard that keep the selected variables.
func toOverview() grafana.Link     { return dashboardLink(overviewUID, "What is shed and why") }
func toAvailability() grafana.Link { return dashboardLink(availabilityUID, "Faults by kind") }

func dashboardLink(uid, title string) grafana.Link {
	return grafana.Link{Title: title, URL: "/d/" + uid + "?${datasource:queryparam}&${job:queryparam}&${instance:queryparam}" +
		"&${throttle:queryparam}&${__url_time_range}"}
}

// toThrottle returns a link from a row of a table to its throttle.
func toThrottle(uid, title string) grafana.Link {
	return grafana.Link{Title: title, URL: "/d/" + uid + "?${datasource:queryparam}&var-job=${__data.fields.job:percentencode}" +
		"&var-throttle=${__data.fields." + throttleName() + ":percentencode}&${__url_time_range}"}
}

// toBreaker returns a link from a row of a table to its breaker.
func toBreaker(title string) grafana.Link {
	return grafana.Link{Title: title, URL: "/d/" + breakersUID + "?${datasource:queryparam}&var-job=${__data.fields.job:percentencode}" +
		"&var-breaker=${__data.fields." + breakerName() + ":percentencode}&${__url_time_range}"}
}

// toBucket returns a link from a row of a table to its token bucket.
func toBucket(title string) grafana.Link {
	return grafana.Link{Title: title, URL: "/d/" + limitsUID + "?${datasource:queryparam}&var-job=${__data.fields.job:percentencode}" +
		"&var-bucket=${__data.fields." + bucketName() + ":percentencode}&${__url_time_range}"}
}

// toBackoff returns a link from a row of a table to its backoff.
func toBackoff(title string) grafana.Link {
	return grafana.Link{Title: title, URL: "/d/" + limitsUID + "?${datasource:queryparam}&var-job=${__data.fields.job:percentencode}" +
		"&var-backoff=${__data.fields." + backoffName() + ":percentencode}&${__url_time_range}"}
}
