package monitoring

import (
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/promql/parser"

	"github.com/spillway-go/spillway/dashboards"
	"github.com/spillway-go/spillway/internal/integration/program"
	"github.com/spillway-go/spillway/throttle"
)

// A dashboard has the parts of a dashboard file that make queries, and those that decide how the answers look.
type dashboard struct {
	UID, Title  string
	Panels      []*panel
	Templating  struct{ List []variable }
	Annotations struct{ List []annotation }
}

// A panel has its queries, and what decides how a number looks. It may be a row, which has panels of its own while it is
// collapsed.
type panel struct {
	Type, Title string
	Targets     []struct {
		Expr, LegendFormat string
		Exemplar           bool
	}
	Panels      []*panel
	FieldConfig struct {
		Defaults struct {
			Thresholds struct {
				Steps []struct {
					Color string
					Value *float64
				}
			}
		}
	}
}

type variable struct {
	Name, Type string
	Query      any
	Multi      bool
	IncludeAll bool
	AllValue   string
}

type annotation struct{ Name, Expr string }

func readDashboards(t *testing.T) map[string]dashboard {
	t.Helper()
	files, err := filepath.Glob(program.File(t, "dashboards/*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("dashboards: got %d files and error %v want some", len(files), err)
	}
	boards := map[string]dashboard{}
	for _, file := range files {
		text := throttle.Must(os.ReadFile(file))
		var d dashboard
		if err := json.Unmarshal(text, &d); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		boards[filepath.Base(file)] = d
	}
	return boards
}

// questions returns all expressions of the dashboard, before variables are replaced.
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

func questionsOf(panels []*panel, where string) []question {
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

// labelValues is the only form of query that our variables use.
var labelValues = regexp.MustCompile(`^label_values\((.+),\s*(\w+)\)$`)

// question returns the query of a variable. Newer versions of Grafana write it as an object.
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

// A question is an expression that is sent to Prometheus.
type question struct {
	where     string // for error messages
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

// newParser returns a parser without experimental features.
func newParser() parser.Parser { return parser.NewParser(parser.Options{}) }

func parse(text string) (parser.Expr, error) { return newParser().ParseExpr(text) }

// mustParse parses an expression that was checked before.
func mustParse(t testing.TB, text string) parser.Expr {
	t.Helper()
	expr, err := parse(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return expr
}

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

func asked(t *testing.T) (questions []question, of map[string]dashboard) {
	t.Helper()
	of = readDashboards(t)
	for file, board := range of {
		questions = append(questions, board.questions(t, file)...)
	}
	return questions, of
}

func (q question) board(of map[string]dashboard) dashboard {
	file, _, _ := strings.Cut(q.where, ",")
	return of[file]
}

// TestDashboards_Names checks the names in every expression of every dashboard.
func TestDashboards_Names(t *testing.T) {
	v := libraryVocabulary(t)
	questions, of := asked(t)
	if len(questions) == 0 {
		t.Fatal("got no expressions")
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

// TestFiles_Names checks that all files for users name only metrics and labels that there are, also in legends, columns and links.
func TestFiles_Names(t *testing.T) {
	known := set{}
	for metric, labels := range libraryVocabulary(t).labels {
		known[metric] = true
		maps.Copy(known, labels)
	}
	name := regexp.MustCompile(`\b(?:throttle_|error_type)\w*`)
	err := fs.WalkDir(dashboards.FS, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasSuffix(path, ".md") {
			return err
		}
		text, err := fs.ReadFile(dashboards.FS, path)
		for line := range strings.Lines(string(text)) {
			line = strings.TrimSpace(line)
			for _, found := range name.FindAllString(line, -1) {
				if !known[found] && !strings.HasPrefix(line, "#") {
					t.Errorf("%s: got %s, which nothing exposes, in %s", path, found, line)
				}
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// named calls check with the name of each series in a dashboard, and where it is.
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

// TestDashboards_WithoutRules checks that dashboards use no series of our recording rules, so that they
// work without them. ALERTS is an exception, because there is no other way to show alerts. The objective of a service
// is one: without the rules, the panels have the default. So is a constant, by which the panels of alerts notice that there are no rules.
func TestDashboards_WithoutRules(t *testing.T) {
	recording, _ := readRules(t)
	made := set{}
	for _, r := range recording {
		made[r.Record] = true
	}
	named(t, func(where, series string) {
		if made[series] && series != "throttle:error_budget:ratio" && series != "throttle:breaker_max_stale:seconds" {
			t.Errorf("%s: got %s, which only a rule makes", where, series)
		}
	})
}

// runtimeMetrics checks that the storefront has the metrics of the panels about the process.
func (s *stack) runtimeMetrics(t *testing.T) {
	scrape := get(t, s.storefront+"/metrics")
	named(t, func(where, series string) {
		ofProcess := strings.HasPrefix(series, "go_") || strings.HasPrefix(series, "process_")
		if ofProcess && !regexp.MustCompile(`(?m)^`+series+`[ {]`).MatchString(scrape) {
			t.Errorf("%s: the storefront does not expose %s", where, series)
		}
	})
}
