package overload

import (
	"fmt"
	"slices"
	"strings"
)

// allName is the word in a list that selects everything.
const allName = "all"

// find returns the elements that a comma-separated list names, each once, in the order of the list.
func find[T any](kind, list string, all []T, names func(T) (name, family string)) ([]T, error) {
	var found []T
	var seen []string
	for word := range strings.SplitSeq(list, ",") {
		word = strings.TrimSpace(word)
		known := false
		for _, x := range all {
			name, family := names(x)
			if word == "" || word != name && word != family && word != allName {
				continue
			}
			known = true
			if !slices.Contains(seen, name) {
				seen, found = append(seen, name), append(found, x)
			}
		}
		if !known {
			return nil, fmt.Errorf("unknown %s %q: want %s", kind, word, strings.Join(validNames(all, names), ", "))
		}
	}
	return found, nil
}

// validNames returns the words that a list may contain: all, the families, and the names, each
// once.
func validNames[T any](all []T, namesOf func(T) (name, family string)) []string {
	var families, names, valid []string
	for _, x := range all {
		name, family := namesOf(x)
		families, names = append(families, family), append(names, name)
	}
	for _, word := range slices.Concat([]string{allName}, families, names) {
		if word != "" && !slices.Contains(valid, word) {
			valid = append(valid, word)
		}
	}
	return valid
}
