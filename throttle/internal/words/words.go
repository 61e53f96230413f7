// Package words writes the values of enumerations as their words, and reads them.
package words

import (
	"fmt"
	"strings"
)

// Value is a value of an enumeration. Its String method says its word, or what [Unknown] returns.
type Value interface {
	~int8 | ~uint8
	fmt.Stringer
}

// Of returns the word of a value, of which the first is that of 0, or what stands for one that has none. The words are one text with a space
// between two, because a list would go to the heap wherever its word does.
func Of[V ~uint8](kind string, value V, words string) string {
	for i := 0; words != ""; i++ {
		word, rest, _ := strings.Cut(words, " ")
		if i == int(value) {
			return word
		}
		words = rest
	}
	return Unknown(kind, value)
}

// Unknown returns what stands for a value that has no word: kind(9).
func Unknown[V ~int8 | ~uint8](kind string, value V) string {
	return fmt.Sprintf("%s(%d)", kind, int(value))
}

// Marshal returns the word of a value from first to last, and an error for any other.
func Marshal[V Value](value, first, last V) ([]byte, error) {
	if value < first || value > last {
		return nil, fmt.Errorf("%T is %v: want %s", value, value, list(first, last))
	}
	return []byte(value.String()), nil
}

// Unmarshal sets value to the one from first to last whose word text is, to the letter. If it is none, value stays as it was.
func Unmarshal[V Value](value *V, text []byte, first, last V) error {
	for v := first; v <= last; v++ {
		if v.String() == string(text) {
			*value = v
			return nil
		}
	}
	return fmt.Errorf("%T is %.100q: want %s", first, text, list(first, last))
}

// list returns the words from first to last, as a choice.
func list[V Value](first, last V) string {
	var choice strings.Builder
	for v := first; v <= last; v++ {
		switch {
		case v > first && v == last:
			choice.WriteString(" or ")
		case v > first:
			choice.WriteString(", ")
		}
		if word := v.String(); word != "" {
			choice.WriteString(word)
		} else {
			choice.WriteString(`""`)
		}
	}
	return choice.String()
}
