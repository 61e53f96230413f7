package sqlstore

import (
	"database/sql"
	"fmt"
	"strconv"
	"strings"

	"github.com/spillway-go/spillway/throttle/internal/enum"
)

// Dialect says which database is spoken to.
type Dialect uint8

const (
	// PostgreSQL is PostgreSQL 11 and later.
	PostgreSQL Dialect = iota + 1
	// MySQL is MySQL 8 and later, and MariaDB 10.6 and later.
	MySQL
	// SQLite is SQLite 3.38 and later.
	SQLite
)

// String returns the database's name: "PostgreSQL", "MySQL" or "SQLite".
func (d Dialect) String() string {
	switch d {
	case PostgreSQL:
		return "PostgreSQL"
	case MySQL:
		return "MySQL"
	case SQLite:
		return "SQLite"
	}
	return enum.Unknown("dialect", d)
}

// MarshalText returns the dialect's word, and an error if it has none.
func (d Dialect) MarshalText() ([]byte, error) { return enum.Marshal(d, PostgreSQL, SQLite) }

// UnmarshalText takes the dialect's word, to the letter. Any other text is an error that names the words, and changes nothing.
func (d *Dialect) UnmarshalText(text []byte) error {
	return enum.Unmarshal(d, text, PostgreSQL, SQLite)
}

func (d Dialect) validate() error {
	if d < PostgreSQL || d > SQLite {
		return fmt.Errorf("sqlstore: dialect is %v: want PostgreSQL, MySQL or SQLite", d)
	}
	return nil
}

// now is the database's own time in microseconds since 1970, whatever time zone the session is in. SQLite's has milliseconds.
func (d Dialect) now() string {
	switch d {
	case PostgreSQL:
		return "CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS bigint)"
	case MySQL:
		return "TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', UTC_TIMESTAMP(6))"
	default: // julianday is as exact as unixepoch('subsec'), and older
		return "CAST(ROUND((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000"
	}
}

// quote puts quotes around a name that identifier has let pass, and around its schema.
func (d Dialect) quote(name string) string {
	mark := `"`
	if d == MySQL {
		mark = "`"
	}
	return mark + strings.ReplaceAll(name, ".", mark+"."+mark) + mark
}

// words are what the dialects call differently.
func (d Dialect) words() []string {
	greatest, least, bytes, alias := "GREATEST", "LEAST", "bytea", "AS p "
	switch d {
	case SQLite:
		greatest, least, bytes = "max", "min", "BLOB"
	case MySQL:
		alias = ""
	}
	return []string{"{now}", d.now(), "{greatest}", greatest, "{least}", least, "{bytes}", bytes, "{as p}", alias}
}

// bind writes the parameters, which are question marks, as the database wants them.
func (d Dialect) bind(query string) string {
	if d != PostgreSQL {
		return query
	}
	var b strings.Builder
	n := 0
	for part := range strings.SplitSeq(query, "?") {
		if n > 0 {
			b.WriteString("$" + strconv.Itoa(n))
		}
		b.WriteString(part)
		n++
	}
	return b.String()
}

// transaction is what a transaction asks for: that each statement sees what was committed before it. MySQL's own default would also
// lock gaps between rows, and have writers of different shards wait for each other. SQLite knows one level only.
func (d Dialect) transaction() *sql.TxOptions {
	if d == SQLite {
		return nil
	}
	return &sql.TxOptions{Isolation: sql.LevelReadCommitted}
}

// commaList returns n times the same, with commas.
func commaList(item string, n int) string {
	return strings.Repeat(item+", ", n-1) + item
}
