package main

import "github.com/spillway-go/spillway/dashboards/internal/grafana"

// Every link goes by these, so they never change.
const (
	overviewUID     = "throttle-overview"
	availabilityUID = "throttle-availability"
	breakersUID     = "throttle-breakers"
	limitsUID       = "throttle-limits"

	tag      = "spillway"
	runbooks = "https://github.com/spillway-go/spillway/blob/main/dashboards/runbooks.md"
)

// frame returns a dashboard of throttles with what all of them have in common.
func frame(uid, title, description string) grafana.Dashboard {
	d := blank(uid, title, description)
	d.Variables = variables()
	d.Annotations = marks(alerts(is("alertstate", "firing")), throttleName(), errorType())
	return d
}

// breakerFrame returns a dashboard of breakers.
func breakerFrame(uid, title, description string) grafana.Dashboard {
	d := blank(uid, title, description)
	d.Variables = breakerVariables()
	d.Annotations = marks(breakerAlerts(is("alertstate", "firing")), breakerName(), failure())
	return d
}

// limitsFrame returns a dashboard of token buckets and backoffs.
func limitsFrame(uid, title, description string) grafana.Dashboard {
	d := blank(uid, title, description)
	d.Variables = limitsVariables()
	d.Annotations = marks(limitsAlerts(is("alertstate", "firing")), bucketName(), backoffName())
	return d
}

// marks shows on all graphs when alerts fired, with these labels of theirs.
func marks(firing string, labels ...string) []grafana.Annotation {
	text := "{{severity}} {{job}}"
	for _, l := range labels {
		text += " {{" + l + "}}"
	}
	return []grafana.Annotation{{Name: "Alerts", Color: "red", Query: firing, Title: "{{alertname}}", Text: text}}
}

// blank returns a dashboard that nothing can be chosen on.
func blank(uid, title, description string) grafana.Dashboard {
	return grafana.Dashboard{
		UID: uid, Title: "Throttle / " + title, Description: description, Tags: []string{tag, "throttle"},
		Links: []grafana.Link{
			{Title: "Throttle dashboards", Tag: tag},
			{Title: "Runbooks", URL: runbooks, Away: true},
		},
	}
}

// variables are what can be chosen on every dashboard of throttles, each from what is left by those before it.
func variables() []grafana.Variable {
	return []grafana.Variable{
		grafana.Datasource(),
		grafana.Query("job", "Job", "The services whose throttles are shown.", string(requests()), "job"),
		grafana.Query("instance", "Instance", "Processes of these services.", requests().where(like("job", "$job")), "instance"),
		grafana.Query("throttle", "Throttle", "Usually one per backend.", requests().where(chosenJob()...), throttleName()),
		grafana.Query("priority", "Priority", "Panels about all priorities ignore this.",
			requests().of(), priority()),
	}
}

// breakerVariables are what can be chosen on a dashboard of breakers.
func breakerVariables() []grafana.Variable {
	return []grafana.Variable{
		grafana.Datasource(),
		grafana.Query("job", "Job", "The services whose breakers are shown.", string(leader()), "job"),
		grafana.Query("instance", "Instance", "Processes of these services. Each reports the circuits of the whole fleet.", leader().where(like("job", "$job")), "instance"),
		grafana.Query("breaker", "Breaker", "One breaker has a circuit for each endpoint.", leader().where(chosenJob()...), breakerName()),
	}
}

// limitsVariables are what can be chosen on a dashboard of token buckets and backoffs. A service may have but one of the two.
func limitsVariables() []grafana.Variable {
	both := []metric{bucketRequests(), backoffCalls()}
	return []grafana.Variable{
		grafana.Datasource(),
		grafana.Query("job", "Job", "The services whose token buckets and backoffs are shown.", either(both), "job"),
		grafana.Query("instance", "Instance", "Processes of these services. Processes with one store share its tokens.", either(both, like("job", "$job")), "instance"),
		grafana.Query("bucket", "Bucket", "A limit, with one bucket per key.", bucketRequests().where(chosenJob()...), bucketName()),
		grafana.Query("backoff", "Backoff", "A service that workers back off from.", backoffCalls().where(chosenJob()...), backoffName()),
	}
}

// alerts returns the alerts about the chosen throttles. Those about a whole service name no instance, and those about a target no
// throttle.
func alerts(conditions ...matcher) string {
	return metric("ALERTS").where(append([]matcher{
		like("alertname", "Throttle.+"), like("job", "$job"), optional("instance", "instance"),
		optional(throttleName(), "throttle"),
	}, conditions...)...)
}

// breakerAlerts returns the alerts about the chosen breakers.
func breakerAlerts(conditions ...matcher) string {
	return metric("ALERTS").where(append([]matcher{
		like("alertname", "ThrottleBreaker.+"), like("job", "$job"), optional("instance", "instance"),
		optional(breakerName(), "breaker"),
	}, conditions...)...)
}

// limitsAlerts returns the alerts about the chosen token buckets and backoffs.
func limitsAlerts(conditions ...matcher) string {
	return metric("ALERTS").where(append([]matcher{
		like("alertname", "Throttle(Bucket|Backoff).+"), like("job", "$job"), optional("instance", "instance"),
		optional(bucketName(), "bucket"), optional(backoffName(), "backoff"),
	}, conditions...)...)
}

// toOverview and toAvailability lead to a dashboard, with everything chosen as it is here.
func toOverview() grafana.Link     { return to(overviewUID, "What is shed and why") }
func toAvailability() grafana.Link { return to(availabilityUID, "Faults by kind") }

func to(uid, title string) grafana.Link {
	return grafana.Link{Title: title, URL: "/d/" + uid + "?${datasource:queryparam}&${job:queryparam}&${instance:queryparam}" +
		"&${throttle:queryparam}&${__url_time_range}"}
}

// toThrottle leads from a line of a table to the throttle that it is about.
func toThrottle(uid, title string) grafana.Link {
	return grafana.Link{Title: title, URL: "/d/" + uid + "?${datasource:queryparam}&var-job=${__data.fields.job:percentencode}" +
		"&var-throttle=${__data.fields." + throttleName() + ":percentencode}&${__url_time_range}"}
}

// toBreaker leads from a line of a table to the breaker that it is about.
func toBreaker(title string) grafana.Link {
	return grafana.Link{Title: title, URL: "/d/" + breakersUID + "?${datasource:queryparam}&var-job=${__data.fields.job:percentencode}" +
		"&var-breaker=${__data.fields." + breakerName() + ":percentencode}&${__url_time_range}"}
}

// toBucket leads from a line of a table to the token bucket that it is about.
func toBucket(title string) grafana.Link {
	return grafana.Link{Title: title, URL: "/d/" + limitsUID + "?${datasource:queryparam}&var-job=${__data.fields.job:percentencode}" +
		"&var-bucket=${__data.fields." + bucketName() + ":percentencode}&${__url_time_range}"}
}

// toBackoff leads from a line of a table to the backoff that it is about.
func toBackoff(title string) grafana.Link {
	return grafana.Link{Title: title, URL: "/d/" + limitsUID + "?${datasource:queryparam}&var-job=${__data.fields.job:percentencode}" +
		"&var-backoff=${__data.fields." + backoffName() + ":percentencode}&${__url_time_range}"}
}
