package overload

import (
	"fmt"
	"slices"
	"strings"
)

// everything is the word for all there is.
const everything = "all"

// find returns what the words of a comma-separated list name, each once, in the order of the list.
func find[T any](kind, list string, all []T, called func(T) (name, family string)) ([]T, error) {
	var found []T
	var seen []string
	for word := range strings.SplitSeq(list, ",") {
		word = strings.TrimSpace(word)
		known := false
		for _, x := range all {
			name, family := called(x)
			if word == "" || word != name && word != family && word != everything {
				continue
			}
			known = true
			if !slices.Contains(seen, name) {
				seen, found = append(seen, name), append(found, x)
			}
		}
		if !known {
			return nil, fmt.Errorf("no %s is called %q: want %s", kind, word, strings.Join(words(all, called), ", "))
		}
	}
	return found, nil
}

// words returns what can stand in a list: all, the families, and the names, each once.
func words[T any](all []T, called func(T) (name, family string)) []string {
	known := []string{everything}
	var names []string
	for _, x := range all {
		name, family := called(x)
		names = append(names, name)
		if family != "" && !slices.Contains(known, family) {
			known = append(known, family)
		}
	}
	for _, name := range names {
		if !slices.Contains(known, name) {
			known = append(known, name)
		}
	}
	return known
}
