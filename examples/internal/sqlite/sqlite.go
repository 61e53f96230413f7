// Package sqlite opens the files in which examples keep their data if they have no server.
package sqlite

import (
	"database/sql"
	"fmt"
	"net/url"
	"path/filepath"
	"time"
)

// Open opens a file. SQLite ignores contexts while it waits for the lock of another connection, for up to busy.
// synchronous(OFF) may lose data if the machine crashes, which is fine for a temporary file.
func Open(file string, busy time.Duration) (*sql.DB, error) {
	source := url.URL{Scheme: "file", Opaque: filepath.ToSlash(file)}
	const pragmas = "?_pragma=busy_timeout(%d)&_pragma=journal_mode(WAL)&_pragma=synchronous(OFF)"
	return sql.Open("sqlite", source.String()+fmt.Sprintf(pragmas, busy.Milliseconds()))
}
