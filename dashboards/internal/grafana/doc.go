// Package grafana describes dashboards as data and writes them as JSON for Grafana. The format is
// the classic one, schema 39. Grafana 10.3 and later load it.
//
// A [Dashboard] has rows of panels. The package sets everything that is the same for all panels,
// such as positions, ids and the data source.
package grafana
