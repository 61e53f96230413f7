package monitoring

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/spillway-go/spillway/internal/integration/program"
)

// A dashboard is what Grafana reads of its file to ask Prometheus.
type dashboard struct {
	UID         string
	Panels      []panel
	Templating  struct{ List []variable }
	Annotations struct{ List []annotation }
}

// A panel may be a row, which has panels of its own while it is collapsed.
type panel struct {
	Type, Title string
	Targets     []target
	Panels      []panel
}

type target struct {
	Expr              string
	Instant, Exemplar bool
}

// A variable is what people choose at the top.
type variable struct {
	Name, Type string
	Query      any
	Multi      bool
	IncludeAll bool
	AllValue   string
	Options    []struct{ Value string }
}

type annotation struct{ Name, Expr string }

// readDashboards returns the dashboards by their file names.
func readDashboards(t *testing.T) map[string]dashboard {
	t.Helper()
	files, err := filepath.Glob(program.File(t, "dashboards/*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("dashboards: got %d files and error %v want some", len(files), err)
	}
	boards := map[string]dashboard{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var d dashboard
		if err := json.Unmarshal(text, &d); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		boards[filepath.Base(file)] = d
	}
	return boards
}

// questions returns everything that the dashboard asks, with its variables still in it.
func (d dashboard) questions(t *testing.T, file string) []question {
	t.Helper()
	var all []question
	for _, v := range d.Templating.List {
		if v.Type == "query" {
			all = append(all, v.question(t, file))
		}
	}
	for _, a := range d.Annotations.List {
		if a.Expr != "" {
			all = append(all, question{where: file + ", annotation " + a.Name, text: a.Expr, kind: ofAnnotation})
		}
	}
	return append(all, questionsOf(d.Panels, file)...)
}

func questionsOf(panels []panel, where string) []question {
	var all []question
	for _, p := range panels {
		here := where + ", " + p.Type + " " + p.Title
		for _, asked := range p.Targets {
			all = append(all, question{where: here, text: asked.Expr, kind: ofPanel, exemplars: asked.Exemplar})
		}
		all = append(all, questionsOf(p.Panels, here)...)
	}
	return all
}

// labelValues is the one form of a variable's query that we use.
var labelValues = regexp.MustCompile(`^label_values\((.+),\s*(\w+)\)$`)

// question returns what a variable asks. Newer Grafanas write its query as an object.
func (v variable) question(t *testing.T, file string) question {
	t.Helper()
	text, ok := v.Query.(string)
	if of, is := v.Query.(map[string]any); is {
		text, ok = of["query"].(string)
	}
	parts := labelValues.FindStringSubmatch(text)
	where := file + ", variable " + v.Name
	if !ok || parts == nil {
		t.Fatalf("%s: got query %v want label_values(metric{…}, label)", where, v.Query)
	}
	return question{where: where, text: parts[1], kind: ofVariable, label: parts[2]}
}
