//go:build !nosqlite

package sqlite

// The driver is large, because it is translated from C. With the tag nosqlite, make test leaves it to
// make test-services.
import _ "modernc.org/sqlite"
