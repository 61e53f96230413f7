package overload

import (
	"slices"
	"strings"
	"testing"
)

func TestFindScenarios(t *testing.T) {
	tests := []struct{ list, want string }{
		{"over5", "over5"},
		{" outage , over5 ", "outage over5"},
		{"over5,over5,overload", "over5 over2 over10 over50"},
		{"isolation", "isolation-warm isolation-cold isolation-late"},
	}
	for _, tt := range tests {
		found, err := FindScenarios(tt.list)
		var names []string
		for _, s := range found {
			names = append(names, s.Name)
		}
		if got := strings.Join(names, " "); got != tt.want || err != nil {
			t.Errorf("%q: got %q, %v, want %q", tt.list, got, err, tt.want)
		}
	}
	if all, err := FindScenarios("surge,all"); err != nil || len(all) != len(Scenarios()) || all[0].Name != "surge" {
		t.Errorf("all: got %d scenarios, %v", len(all), err)
	}
}

// TestWordsAreUnambiguous: a word on the command line means one thing.
func TestWordsAreUnambiguous(t *testing.T) {
	var names []string
	families := map[string][]string{}
	for _, s := range Scenarios() {
		if slices.Contains(names, s.Name) {
			t.Errorf("two scenarios are called %q", s.Name)
		}
		names = append(names, s.Name)
		families[s.Family] = append(families[s.Family], s.Name)
		for _, word := range []string{s.Name, s.Family} {
			if word == allName || word == "" || strings.ContainsAny(word, " ,") {
				t.Errorf("%q cannot be in a list", word)
			}
		}
		if s.Title == "" {
			t.Errorf("%s has no title", s.Name)
		}
	}
	for family, members := range families {
		if slices.Contains(names, family) && len(members) > 1 {
			t.Errorf("%q is a scenario and a family of %q", family, members)
		}
	}
}
