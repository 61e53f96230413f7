package main

import (
	"io/fs"

	"github.com/spillway-go/spillway/dashboards/internal/grafana"
)

// generate returns all generated files, by their paths in the folder of the dashboards, from which it reads the rules.
func generate(folder fs.FS) (map[string][]byte, error) {
	files := map[string][]byte{}
	var maps []configMap
	for name, dashboard := range map[string]grafana.Dashboard{
		"overview.json": overview(), "availability.json": availability(), "breakers.json": breakers(),
		"limits.json": limits(),
	} {
		text, err := dashboard.JSON()
		if err != nil {
			return nil, err
		}
		files[name] = text
		maps = append(maps, configMap{name: dashboard.UID, file: name, text: text})
	}
	files["kubernetes/dashboards.yaml"] = configMaps(maps)
	rules, err := prometheusRule(folder, "rules/recording.yml", "rules/alerts.yml")
	files["kubernetes/rules.yaml"] = rules
	return files, err
}
