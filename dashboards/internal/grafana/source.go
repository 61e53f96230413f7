package grafana

// DatasourceVariable is the name of the variable that says which Prometheus is asked. Everything asks it: a dashboard that names a data
// source of its own is blank everywhere else.
const DatasourceVariable = "datasource"

// prometheus is the data source of all queries.
func prometheus() object {
	return object{"type": "prometheus", "uid": "${" + DatasourceVariable + "}"}
}
