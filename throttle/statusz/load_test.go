package statusz

import (
	"testing"
)

// TestWorse orders all words.
func TestWorse(t *testing.T) {
	words := []string{"", "calm", "mixed", "doubted", "overloaded"}
	for i, word := range words[1:] {
		if worse(words[i], word) != word || worse(word, words[i]) != word {
			t.Errorf("%s is not worse than %q", word, words[i])
		}
	}
}
