// Package enum converts the values of enumerations to their words and back.
package enum

import (
	"fmt"
	"iter"
	"strings"
)

// Value is a value of an enumeration. Its String method returns its word, or [Unknown].
type Value interface {
	~int8 | ~uint8
	fmt.Stringer
}

// Name returns the word of value. Words are separated by spaces; the first is the word of 0. A value
// without a word returns [Unknown]. The words are one string because a slice would be allocated.
func Name[V ~uint8](kind string, value V, words string) string {
	for i := 0; words != ""; i++ {
		word, rest, _ := strings.Cut(words, " ")
		if i == int(value) {
			return word
		}
		words = rest
	}
	return Unknown(kind, value)
}

// Unknown returns the text of a value that has no word: kind(9).
func Unknown[V ~int8 | ~uint8](kind string, value V) string {
	return fmt.Sprintf("%s(%d)", kind, int(value))
}

// All yields the values from first to last.
func All[V Value](first, last V) iter.Seq[V] {
	return func(yield func(V) bool) {
		for v := first; v <= last && yield(v); v++ {
		}
	}
}

// Marshal returns the word of a value between first and last, or an error for any other value.
func Marshal[V Value](value, first, last V) ([]byte, error) {
	if value < first || value > last {
		return nil, fmt.Errorf("%T is %v: want %s", value, value, list(first, last))
	}
	return []byte(value.String()), nil
}

// Unmarshal sets value to the one between first and last whose word is text. If there is none, it
// returns an error and does not change value.
func Unmarshal[V Value](value *V, text []byte, first, last V) error {
	for v := first; v <= last; v++ {
		if v.String() == string(text) {
			*value = v
			return nil
		}
	}
	return fmt.Errorf("%T is %.100q: want %s", first, text, list(first, last))
}

// list returns the words from first to last: "a, b or c".
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
