package dashboards_test

import (
	"encoding/json"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/spillway-go/spillway/dashboards"
)

// A part is any part of a resource.
type part struct {
	Kind, Name string
	Spec       json.RawMessage
}

// walkParts calls visit with each part of a resource, with those around it.
func walkParts(t *testing.T, text json.RawMessage, around []string, visit func(p part, around []string)) {
	t.Helper()
	var p part
	if json.Unmarshal(text, &p) == nil && p.Kind != "" {
		visit(p, around)
		around = append(slices.Clip(around), p.Kind)
	}
	var fields map[string]json.RawMessage
	var list []json.RawMessage
	if json.Unmarshal(text, &fields) == nil {
		list = slices.Collect(maps.Values(fields))
	} else {
		_ = json.Unmarshal(text, &list)
	}
	for _, one := range list {
		walkParts(t, one, around, visit)
	}
}

// TestResources compares each resource with its classic file: the same panels in the same place, each once, and the same queries.
func TestResources(t *testing.T) {
	names, err := fs.Glob(dashboards.FS, "v2beta1/*.yaml")
	if err != nil || len(names) != len(boards(t)) {
		t.Fatalf("v2beta1: got %d files and error %v want %d", len(names), err, len(boards(t)))
	}
	for _, name := range names {
		classic := readBoard(t, name, readFile(t, strings.TrimSuffix(strings.TrimPrefix(name, "v2beta1/"), ".yaml")+".json"))
		var queries, want, variables []string
		placed, tabs, asked := map[string]int{}, 0, ""
		walkParts(t, readFile(t, name), nil, func(p part, around []string) {
			var spec struct {
				Expr, Variable, Name string
				Title                string
			}
			_ = json.Unmarshal(p.Spec, &spec)
			switch {
			case p.Kind == "DataQuery" && slices.Contains(around, "PanelQuery"):
				queries = append(queries, spec.Expr)
			case p.Kind == "ElementReference":
				placed[p.Name]++
			case p.Kind == "TabsLayoutTab":
				tabs++
			case p.Kind == "ConditionalRenderingVariable":
				asked = spec.Variable
			case strings.HasSuffix(p.Kind, "Variable"):
				variables = append(variables, spec.Name)
			}
		})
		for _, p := range classic.panels() {
			for _, target := range p.Targets {
				want = append(want, target.Expr)
			}
		}
		slices.Sort(queries)
		slices.Sort(want)
		if !slices.Equal(queries, want) {
			t.Errorf("%s: got %d queries want the %d of the classic file", name, len(queries), len(want))
		}
		if len(placed) != len(classic.panels()) || slices.Max(slices.Collect(maps.Values(placed))) > 1 {
			t.Errorf("%s: got places for %v want one for each of %d panels", name, placed, len(classic.panels()))
		}
		if collapsed := len(classic.Panels) - len(classic.open()); tabs < 2 || tabs > collapsed+1 {
			t.Errorf("%s: got %d tabs want the open rows in one, and one for each collapsed row", name, tabs)
		}
		if asked != "" && !slices.Contains(variables, asked) {
			t.Errorf("%s: got a row that asks for %s want one of %v", name, asked, variables)
		}
		if strings.HasSuffix(name, "limits.yaml") != (asked != "") {
			t.Errorf("%s: got a row that asks for %q want one on the board of limits", name, asked)
		}
	}
}
