// Gen writes the dashboards and the files for Kubernetes into the current folder. To run it:
//
//	go generate ./dashboards
//
// With -to it writes all that another repository needs instead, for labels that have other names:
//
//	go run ./dashboards/gen -cluster region -to monitoring
//
// All metric and label names come from otelthrottle, so a name that changes there changes here too.
package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spillway-go/spillway/dashboards/internal/grafana"
)

func main() {
	if err := run(flag.CommandLine, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func run(flags *flag.FlagSet, args []string) error {
	var n names
	flags.StringVar(&n.cluster, "cluster", "cluster", "`label` of series that names a cluster, with -to")
	flags.StringVar(&n.team, "team", "team", "`label` of series that names a team, with -to")
	flags.StringVar(&n.runbooks, "runbooks", runbooks, "`URL` of the runbooks, with -to")
	to := flags.String("to", "", "`folder` for a copy of dashboards, rules and the base for kustomize")
	if err := flags.Parse(args); err != nil {
		return err
	}
	switch {
	case flags.NArg() > 0:
		return fmt.Errorf("%q is no flag: want -to and a folder for a copy", flags.Arg(0))
	case *to != "":
		return export(*to, n)
	case flags.NFlag() > 0:
		return errors.New("-cluster, -team and -runbooks are for a copy: want -to and a folder too")
	}
	return write(".")
}

// write writes all generated files into a folder, which must have the rules and the runbooks.
func write(folder string) error {
	files, err := generate(os.DirFS(folder))
	if err != nil {
		return err
	}
	for name, text := range files {
		if err := writeFile(folder, name, text); err != nil {
			return err
		}
	}
	return nil
}

// writeFile writes a file, and makes its folder.
func writeFile(folder, name string, text []byte) error {
	path := filepath.Join(folder, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o644)
}

// boards returns the dashboards by the names of their files.
func boards() map[string]grafana.Dashboard {
	return map[string]grafana.Dashboard{
		"overview.json": finish(overview()), "availability.json": finish(availability()), "breakers.json": finish(breakers()),
		"limits.json": finish(limits()), "backoffs.json": finish(backoffs()),
	}
}

// finish adds what all boards and panels have. Panels of several boards that are alike have their text with the first of them.
func finish(d grafana.Dashboard) grafana.Dashboard {
	of, board := textsByTitle(), strings.TrimPrefix(d.Title, "Throttle / ")
	d.Description = of[board]
	for _, row := range d.Rows {
		for i := range row.Panels {
			p := &row.Panels[i]
			p.Description = cmp.Or(of[board+" → "+p.Title], of["Overview → "+p.Title])
			inClusters(p)
		}
	}
	return d
}

// generate returns all generated files by their paths. It reads the rules and the runbooks
// from folder.
func generate(folder fs.FS) (map[string][]byte, error) {
	files := map[string][]byte{}
	for name, dashboard := range boards() {
		text, err := dashboard.JSON()
		if err != nil {
			return nil, err
		}
		files[name] = text
	}
	rules, err := prometheusRule(folder, "rules/recording.yml", "rules/alerts.yml")
	if err != nil {
		return nil, err
	}
	files["kubernetes/rules.yaml"] = rules
	if files["kubernetes/alertmanagerconfig.yaml"], err = alertmanagerConfig(folder); err != nil {
		return nil, err
	}
	files["runbooks.md"], err = linkRunbooks(folder, files)
	return files, err
}
