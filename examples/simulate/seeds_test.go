package main

import (
	"fmt"
	"strings"
	"testing"
)

func TestParseSeeds(t *testing.T) {
	tests := []struct{ text, want string }{
		{"3", "[1 2 3]"},
		{" 2 ", "[1 2]"},
		{"7, 3", "[7 3]"},
		{"1-2,9,5-6", "[1 2 9 5 6]"},
		{"18446744073709551614-18446744073709551615", "[18446744073709551614 18446744073709551615]"},
	}
	for _, tt := range tests {
		seeds, err := parseSeeds(tt.text)
		if got := fmt.Sprint(seeds); err != nil || got != tt.want {
			t.Errorf("%q: got %s, %v, want %s", tt.text, got, err, tt.want)
		}
	}
	for text, want := range map[string]int{"1000": 1000, "1001-2000": 1000} {
		if seeds, err := parseSeeds(text); err != nil || len(seeds) != want {
			t.Errorf("%q: got %d seeds, %v, want %d", text, len(seeds), err, want)
		}
	}
}

func TestParseSeedsRefuses(t *testing.T) {
	tests := []struct{ text, want string }{
		{"", "not a seed"},
		{"0", "not a seed"},
		{"ten", `"ten" is not a seed`},
		{"5-3", `"5-3" ends before it begins`},
		{"1001", "want 1 to 1000 seeds"},
		{"1-600,601-1200", "want 1 to 1000 seeds"},
		{"1-5,4", "a seed twice"},
	}
	for _, tt := range tests {
		if seeds, err := parseSeeds(tt.text); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: got %d seeds, %v, want an error with %q", tt.text, len(seeds), err, tt.want)
		}
	}
}
