package monitoring

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/promql/parser"

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

// A question is an expression that somebody asks Prometheus.
type question struct {
	where     string // for whoever has to mend it
	text      string
	kind      questionKind
	label     string // whose values a variable wants
	exemplars bool
}

type questionKind int

const (
	ofPanel questionKind = iota
	ofVariable
	ofAnnotation
)

// newParser reads PromQL as a Prometheus without experiments does.
func newParser() parser.Parser { return parser.NewParser(parser.Options{}) }

// parse reads an expression.
func parse(text string) (parser.Expr, error) { return newParser().ParseExpr(text) }

// mustParse is for expressions that have been found to be right before.
func mustParse(t testing.TB, text string) parser.Expr {
	t.Helper()
	expr, err := parse(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return expr
}

// selectors returns every place of an expression where series are selected.
func selectors(expr parser.Expr) []*parser.VectorSelector {
	var found []*parser.VectorSelector
	parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
		if s, ok := node.(*parser.VectorSelector); ok {
			found = append(found, s)
		}
		return nil
	})
	return found
}

// asked returns everything that the dashboards ask, with their variables in it, and the variables.
func asked(t *testing.T) (questions []question, of map[string]dashboard) {
	t.Helper()
	of = readDashboards(t)
	for file, board := range of {
		questions = append(questions, board.questions(t, file)...)
	}
	return questions, of
}

// board returns the dashboard that asks.
func (q question) board(of map[string]dashboard) dashboard {
	file, _, _ := strings.Cut(q.where, ",")
	return of[file]
}

// TestDashboardsSpeakOfWhatThereIs reads every expression of every dashboard.
func TestDashboardsSpeakOfWhatThereIs(t *testing.T) {
	v := speak(t)
	questions, of := asked(t)
	if len(questions) == 0 {
		t.Fatal("nobody asks anything")
	}
	for _, q := range questions {
		text, err := inGrafana(byDefault(q.board(of))).apply(q.text)
		if err != nil {
			t.Errorf("%s: %v", q.where, err)
			continue
		}
		for _, wrong := range v.check(text) {
			t.Errorf("%s: %s", q.where, wrong)
		}
		if q.kind == ofVariable {
			for _, s := range selectors(mustParse(t, text)) {
				if !v.labelsSelected(s)[q.label] {
					t.Errorf("%s: %s has no label %s", q.where, text, q.label)
				}
			}
		}
	}
}

// named calls check with the name of each series that a dashboard asks for, and where it does.
func named(t *testing.T, check func(where, series string)) {
	t.Helper()
	questions, of := asked(t)
	for _, q := range questions {
		text, err := inGrafana(byDefault(q.board(of))).apply(q.text)
		if err != nil {
			t.Fatalf("%s: %v", q.where, err)
		}
		for _, s := range selectors(mustParse(t, text)) {
			check(q.where, s.Name)
		}
	}
}

// TestPanelsNeedNoRules makes sure that dashboards work in a Prometheus that has none of our rules: they name no series that a rule
// makes. ALERTS is the exception, since there is no other way to show alerts.
func TestPanelsNeedNoRules(t *testing.T) {
	recording, _ := readRules(t)
	made := set{}
	for _, r := range recording {
		made[r.Record] = true
	}
	named(t, func(where, series string) {
		if made[series] {
			t.Errorf("%s: got %s, which only a rule makes", where, series)
		}
	})
}

// TestStorefrontExposesTheRuntime makes sure that panels about the process are not only true of our own instances.
func TestStorefrontExposesTheRuntime(t *testing.T) {
	url := program.Example(t, "storefront", "-listen", "127.0.0.1:0")
	scrape := get(t, url+"/metrics")
	named(t, func(where, series string) {
		ofProcess := strings.HasPrefix(series, "go_") || strings.HasPrefix(series, "process_")
		if ofProcess && !regexp.MustCompile(`(?m)^`+series+`[ {]`).MatchString(scrape) {
			t.Errorf("%s: the storefront does not expose %s", where, series)
		}
	})
}
