package otelthrottle

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestOwnKeysAreAllThatThereAre compares them with the constants of names.go.
func TestOwnKeysAreAllThatThereAre(t *testing.T) {
	source, err := os.ReadFile("names.go")
	if err != nil {
		t.Fatal(err)
	}
	constants, list, _ := strings.Cut(string(source), "func ownKeys()")
	list, _, _ = strings.Cut(list, "\n}")
	listed := regexp.MustCompile(`\bKey\w+`).FindAllString(list, -1)
	for _, m := range regexp.MustCompile(`(?m)^\t(Key\w+) += `).FindAllStringSubmatch(constants, -1) {
		if !slices.Contains(listed, m[1]) {
			t.Errorf("own keys: got no %s", m[1])
		}
	}
	if len(listed) == 0 || len(listed) != len(ownKeys()) {
		t.Errorf("own keys: got %q want %d of them", listed, len(ownKeys()))
	}
}
