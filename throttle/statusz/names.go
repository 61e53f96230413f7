package statusz

import (
	"fmt"
	"iter"
)

// words returns the words of an enumeration. The stream has outcomes, faults and causes by their index.
func words[V fmt.Stringer](all iter.Seq[V]) (names []string) {
	for v := range all {
		names = append(names, v.String())
	}
	return names
}
