package main

import "github.com/spillway-go/spillway/dashboards/internal/grafana"

// Every link goes by these, so they never change.
const (
	overviewUID     = "throttle-overview"
	availabilityUID = "throttle-availability"

	tag      = "spillway"
	runbooks = "https://github.com/spillway-go/spillway/blob/main/dashboards/runbooks.md"
)

// frame returns a dashboard with what all of them have in common.
func frame(uid, title, description string) grafana.Dashboard {
	return grafana.Dashboard{
		UID: uid, Title: "Throttle / " + title, Description: description, Tags: []string{tag, "throttle"},
		Variables: variables(),
		Annotations: []grafana.Annotation{{
			Name: "Alerts", Color: "red", Query: alerts(is("alertstate", "firing")), Title: "{{alertname}}",
			Text: "{{severity}} {{job}} {{" + throttleName() + "}} {{" + errorType() + "}}",
		}},
		Links: []grafana.Link{
			{Title: "Throttle dashboards", Tag: tag},
			{Title: "Runbooks", URL: runbooks, Away: true},
		},
	}
}

// variables are what can be chosen on every dashboard, each from what is left by those before it.
func variables() []grafana.Variable {
	return []grafana.Variable{
		grafana.Datasource(),
		grafana.Query("job", "Job", "The services whose throttles are shown.", string(requests()), "job"),
		grafana.Query("instance", "Instance", "Their processes.", requests().where(like("job", "$job")), "instance"),
		grafana.Query("throttle", "Throttle", "One throttle stands before each backend.", requests().where(chosenJob()...), throttleName()),
		grafana.Query("priority", "Priority", "Where a panel is about all priorities, this does not narrow it.",
			requests().of(), priority()),
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

// toOverview and toAvailability lead to a dashboard, with everything chosen as it is here.
func toOverview() grafana.Link     { return to(overviewUID, "What is shed, and why") }
func toAvailability() grafana.Link { return to(availabilityUID, "Which faults there are") }

func to(uid, title string) grafana.Link {
	return grafana.Link{Title: title, URL: "/d/" + uid + "?${datasource:queryparam}&${job:queryparam}&${instance:queryparam}" +
		"&${throttle:queryparam}&${__url_time_range}"}
}

// toThrottle leads from a line of a table to the throttle that it is about.
func toThrottle(uid, title string) grafana.Link {
	return grafana.Link{Title: title, URL: "/d/" + uid + "?${datasource:queryparam}&var-job=${__data.fields.job:percentencode}" +
		"&var-throttle=${__data.fields." + throttleName() + ":percentencode}&${__url_time_range}"}
}
