package main

import (
	"fmt"
	"strings"
	"testing"
)

func TestParseSeeds(t *testing.T) {
	for text, want := range map[string]string{ // how the list of seeds begins, or a part of the error
		"3": "[1 2 3]", " 2 ": "[1 2]", "7, 3": "[7 3]", "1-2,9,5-6": "[1 2 9 5 6]", "1000": "[1 2 3 ", "1001-2000": "[1001 ",
		"18446744073709551614-18446744073709551615": "[18446744073709551614 18446744073709551615]",
		"": "not a seed", "0": "not a seed", "ten": `"ten" is not a seed`, "5-3": `"5-3" ends before it begins`,
		"1001": "want 1 to 1000 seeds", "1-600,601-1200": "want 1 to 1000 seeds", "1-5,4": "a seed twice",
	} {
		seeds, err := parseSeeds(text)
		got := fmt.Sprint(seeds)
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, want) || strings.HasPrefix(want, "[") != (err == nil) {
			t.Errorf("%q: got %.200s want %s", text, got, want)
		}
	}
}
