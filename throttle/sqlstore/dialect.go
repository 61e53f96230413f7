package sqlstore

import (
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/spillway-go/spillway/throttle/internal/enum"
)

// Dialect is the SQL dialect of a database.
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
	return enum.Name("dialect", d, "dialect(0) PostgreSQL MySQL SQLite")
}

// MarshalText returns the dialect's name. It returns an error for an unknown dialect.
func (d Dialect) MarshalText() ([]byte, error) { return enum.Marshal(d, PostgreSQL, SQLite) }

// UnmarshalText parses a dialect's name, exactly as String writes it. For any other text it returns
// an error that lists the names, and changes nothing.
func (d *Dialect) UnmarshalText(text []byte) error {
	return enum.Unmarshal(d, text, PostgreSQL, SQLite)
}

func (d Dialect) validate() error {
	if d == 0 {
		return errors.New("sqlstore: the dialect is missing: want PostgreSQL, MySQL or SQLite")
	}
	if d > SQLite {
		return fmt.Errorf("sqlstore: dialect is %v: want PostgreSQL, MySQL or SQLite", d)
	}
	return nil
}

// now returns an expression for the database's time in microseconds since 1970. It does not depend
// on the time zone of the session. SQLite's time is in whole milliseconds.
func (d Dialect) now() string {
	switch d {
	case PostgreSQL:
		return "CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS bigint)"
	case MySQL:
		return "TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', UTC_TIMESTAMP(6))"
	default: // julianday is as exact as unixepoch('subsec'), and older versions have it too
		return "CAST(ROUND((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000"
	}
}

// quote returns a name in quotes, and its schema too. The name must have passed checkIdentifier.
func (d Dialect) quote(name string) string {
	mark := `"`
	if d == MySQL {
		mark = "`"
	}
	return mark + strings.ReplaceAll(name, ".", mark+"."+mark) + mark
}

// words are pairs of a placeholder in a statement, and its text in this dialect.
func (d Dialect) words() []string {
	words := []string{"{now}", d.now()}
	for _, word := range [][SQLite + 1]string{
		// placeholder, PostgreSQL, MySQL, SQLite
		{"{greatest}", "GREATEST", "GREATEST", "max"},
		{"{least}", "LEAST", "LEAST", "min"},
		{"{div}", "/", "DIV", "/"},
		{"{as p}", "AS p ", "", "AS p "},
		{"{owner}", "bytea", "VARBINARY(1024)", "BLOB"},
		{"{name}", "bytea", "VARBINARY(255)", "BLOB"},
		{"{key}", "bytea", "VARBINARY(192)", "BLOB"},
		{"{hash}", "bytea", "BINARY(32)", "BLOB"},
		{"{data}", "bytea", "LONGBLOB", "BLOB"},
		{"{result columns}", bucketResultDDL, "", bucketResultDDL}, // MySQL has no RETURNING, so a bucket needs no result
		// On PostgreSQL, an update finds space on the page of its row. In SQLite, a table WITHOUT ROWID is slow with large rows.
		{"{options}", " WITH (fillfactor = 50)", " ENGINE=InnoDB", " WITHOUT ROWID"},
		{"{record options}", "", " ENGINE=InnoDB", ""},
	} {
		words = append(words, word[0], word[d])
	}
	return words
}

// bind numbers the parameters for PostgreSQL. The statements have question marks, as other
// databases require them.
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

// transaction returns the options of a transaction: read committed. The default of MySQL also locks
// gaps between rows, so writers of different shards would wait for each other. SQLite has one level
// only.
func (d Dialect) transaction() *sql.TxOptions {
	if d == SQLite {
		return nil
	}
	return &sql.TxOptions{Isolation: sql.LevelReadCommitted}
}

// texts writes the statements of a store: for its dialect, and with the names of its tables.
type texts struct {
	Dialect

	names *strings.Replacer
}

// newTexts returns the texts of a dialect, with the names of the tables that begin with a prefix. More are pairs of a
// placeholder in a statement, and its text.
func newTexts(d Dialect, prefix string, more ...string) texts {
	return texts{d, strings.NewReplacer(slices.Concat(d.words(), tableNames(d, prefix), more)...)}
}

func (t texts) one(query string) string { return t.bind(t.names.Replace(query)) }

// many returns a statement about any number of rows: the item, for each row, is between the others.
func (t texts) many(head, item, tail string) *manySQL {
	return &manySQL{dialect: t.Dialect, head: t.names.Replace(head), item: t.names.Replace(item), tail: t.names.Replace(tail)}
}

// manySQL is a statement about any number of rows. On PostgreSQL, its text is the same for each number: it
// has an array for each column. A text is prepared once, and that takes long for a list of many parameters.
type manySQL struct {
	dialect          Dialect
	head, item, tail string   // the item, for each row, is between the others
	texts            sync.Map // by the number of rows
}

// of returns the statement for n rows.
func (s *manySQL) of(n int) string {
	if s.item == "" {
		n = 0
	}
	if text, ok := s.texts.Load(n); ok {
		return text.(string)
	}
	text := s.head
	if n > 0 {
		text += strings.Repeat(s.item+", ", n-1) + s.item
	}
	text = s.dialect.bind(text + s.tail)
	s.texts.Store(n, text)
	return text
}

// args returns the arguments for some rows: their values, or an array for each column. The arrays are
// texts, which every driver can send.
func (s *manySQL) args(rows [][]any) []any {
	if s.item != "" {
		return slices.Concat(rows...)
	}
	args := make([]any, len(rows[0]))
	for column := range args {
		text := []byte("{")
		for i, row := range rows {
			if i > 0 {
				text = append(text, ',')
			}
			text = appendElement(text, row[column])
		}
		args[column] = string(append(text, '}'))
	}
	return args
}

// appendElement appends an element of an array: bytes, a number, or a text without quotes.
func appendElement(text []byte, value any) []byte {
	switch v := value.(type) {
	case []byte:
		return append(hex.AppendEncode(append(text, `"\\x`...), v), '"')
	case int64:
		return strconv.AppendInt(text, v, 10)
	default:
		return append(append(append(text, '"'), v.(string)...), '"')
	}
}

// rowsQuerier is a pool of connections, a connection, or a transaction.
type rowsQuerier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// eachRow runs a query, and calls scan with each row.
func eachRow(ctx context.Context, db rowsQuerier, query string, args []any, scan func(*sql.Rows) error) error {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}
