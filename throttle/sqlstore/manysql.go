package sqlstore

import (
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"sync"
)

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
