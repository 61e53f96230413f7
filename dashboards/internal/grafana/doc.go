// Package grafana describes dashboards as data, and writes them as the JSON that Grafana reads: the classic form, schema 39, which
// Grafana 10.3 and everything after it load as it is.
//
// A [Dashboard] has rows of panels. Where a panel stands, its number, its data source and everything else that is the same for all
// of them is not said by whoever describes a dashboard; it is decided here, once.
package grafana
