package dashboards_test

import (
	"encoding/json"
	"testing"
)

// board is a dashboard as the rules look at it.
type board struct {
	file string

	UID         string   `json:"uid"`
	Title       string   `json:"title"`
	Description string   `json:"description"`
	Tags        []string `json:"tags"`
	Links       []link   `json:"links"`
	Panels      []panel  `json:"panels"`
	Templating  struct {
		List []variable `json:"list"`
	} `json:"templating"`
	Annotations struct {
		List []annotation `json:"list"`
	} `json:"annotations"`
}

type panel struct {
	ID          int      `json:"id"`
	Type        string   `json:"type"`
	Title       string   `json:"title"`
	Description string   `json:"description"`
	Collapsed   bool     `json:"collapsed"`
	GridPos     place    `json:"gridPos"`
	Panels      []panel  `json:"panels"`
	Targets     []target `json:"targets"`
	Links       []link   `json:"links"`
	FieldConfig struct {
		Defaults  field `json:"defaults"`
		Overrides []struct {
			Matcher    struct{ ID, Options string } `json:"matcher"`
			Properties []property                   `json:"properties"`
		} `json:"overrides"`
	} `json:"fieldConfig"`
	Options struct {
		Legend *struct {
			DisplayMode, Placement, SortBy string
			Calcs                          []string
		} `json:"legend"`
		TextMode string
	} `json:"options"`
}

type place struct{ X, Y, W, H int }

type field struct {
	Unit       string   `json:"unit"`
	Min        *float64 `json:"min"`
	Links      []link   `json:"links"`
	Max        *float64 `json:"max"`
	NoValue    string   `json:"noValue"`
	Thresholds struct {
		Steps []struct {
			Color string   `json:"color"`
			Value *float64 `json:"value"`
		} `json:"steps"`
	} `json:"thresholds"`
}

type property struct {
	ID    string          `json:"id"`
	Value json.RawMessage `json:"value"`
}

type target struct {
	Expr     string `json:"expr"`
	Legend   string `json:"legendFormat"`
	Format   string `json:"format"`
	Exemplar bool   `json:"exemplar"`
	RefID    string `json:"refId"`
}

type variable struct {
	Name, Label, Type, Definition, AllValue string
	Multi, IncludeAll                       bool
	Refresh, Sort, Hide                     int
	Query, Current                          any
}

type annotation struct {
	BuiltIn int `json:"builtIn"`
	Filter  struct{ IDs []int }

	UseValueForTime         bool
	TitleFormat, TextFormat string
	Name                    string `json:"name"`
	Expr                    string `json:"expr"`
}

type link struct{ Title, Type, URL string }

// readBoard reads a dashboard.
func readBoard(t *testing.T, file string, text []byte) board {
	t.Helper()
	b := board{file: file}
	if err := json.Unmarshal(text, &b); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return b
}

// open returns the panels that ask something as soon as the dashboard is opened.
func (b board) open() []panel {
	var open []panel
	for _, p := range b.Panels {
		if p.Type != "row" {
			open = append(open, p)
		}
	}
	return open
}

// panels returns all panels that ask something, also those in rows that are closed.
func (b board) panels() []panel {
	all := b.open()
	for _, p := range b.Panels {
		all = append(all, p.Panels...)
	}
	return all
}

// links returns all links of the dashboard, its panels and its cells.
func (b board) links() []link {
	all := append([]link(nil), b.Links...)
	for _, p := range b.panels() {
		all = append(append(all, p.Links...), p.FieldConfig.Defaults.Links...)
		for _, o := range p.FieldConfig.Overrides {
			for _, property := range o.Properties {
				var links []link
				if property.ID == "links" && json.Unmarshal(property.Value, &links) == nil {
					all = append(all, links...)
				}
			}
		}
	}
	return all
}
