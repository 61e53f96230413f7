package monitoring

import (
	"strings"
	"testing"

	"github.com/prometheus/prometheus/promql/parser"
)

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
