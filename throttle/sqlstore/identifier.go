package sqlstore

import (
	"fmt"
	"strings"
)

// longestIdentifier is what all databases let a name have: PostgreSQL cuts longer ones.
const longestIdentifier = 63

// identifier refuses what is not the plain name of a table or column: ASCII letters, digits and underscores. With schema, one
// before a dot is allowed. A plain name in quotes can be nothing else to the database.
func identifier(field, name string, longest int, schema bool) error {
	want := fmt.Sprintf("1 to %d ASCII letters, digits and underscores, with a letter or underscore first", longest)
	rest := name
	if schema {
		want += "; a schema and a dot may stand before it"
		if before, after, found := strings.Cut(name, "."); found && plain(before, longestIdentifier) {
			rest = after
		}
	}
	if plain(rest, longest) {
		return nil
	}
	return fmt.Errorf("sqlstore: %s is %.80q: want %s", field, name, want)
}

func plain(name string, longest int) bool {
	for i, c := range []byte(name) {
		letter := c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != "" && len(name) <= longest
}
