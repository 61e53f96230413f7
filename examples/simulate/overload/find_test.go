package overload

import (
	"strings"
	"testing"
)

// TestWordsAreUnambiguous: a word on the command line means one thing.
func TestWordsAreUnambiguous(t *testing.T) {
	names, families := map[string]int{}, map[string]int{allName: 2}
	for _, s := range Scenarios() {
		names[s.Name]++
		families[s.Family]++
		if s.Title == "" || s.Name == "" || s.Family == "" || s.Family == allName || strings.ContainsAny(s.Name+s.Family, " ,") {
			t.Errorf("%s of %s: want a title, and words that can be in a list", s.Name, s.Family)
		}
	}
	for name, n := range names {
		if n > 1 || families[name] > 1 {
			t.Errorf("%q has several meanings", name)
		}
	}
}
