package sqlstore

import "strings"

// BucketSchema returns the statements that create the table of bucket stores, for a migration tool. Each can be run again and does nothing
// then. An empty prefix is "spillway_"; a schema may stand before it, with a dot.
func BucketSchema(d Dialect, prefix string) ([]string, error) {
	table, err := bucketTable(d, prefix)
	if err != nil {
		return nil, err
	}
	name, id, answer, options := "bytea", "bytea", bucketAnswerDDL, ""
	switch d {
	case PostgreSQL:
		options = " WITH (fillfactor = 50)" // so that what is written again and again finds place on its page
	case MySQL: // which returns nothing from a row
		name, id, answer, options = "VARBINARY(255)", "VARBINARY(192)", "", " ENGINE=InnoDB"
	case SQLite:
		name, id, options = "BLOB", "BLOB", " WITHOUT ROWID"
	}
	text := strings.NewReplacer("{bucket}", table, "{name}", name, "{id}", id, "{answer}", answer, "{options}", options)
	return []string{text.Replace(bucketDDL)}, nil
}

// These create the table. Times are nanoseconds since 1970. A row with at_ns and used is a store.Level. It means a full bucket once keep_ns
// have passed since at_ns. The columns of the answer are what the last request was told.
const (
	bucketDDL = `CREATE TABLE IF NOT EXISTS {bucket} (
	name {name} NOT NULL,
	id {id} NOT NULL,
	at_ns BIGINT NOT NULL,
	used BIGINT NOT NULL,
	keep_ns BIGINT NOT NULL,{answer}
	PRIMARY KEY (name, id)
){options}`
	bucketAnswerDDL = `
	taken_ns BIGINT NOT NULL,
	granted BIGINT NOT NULL,`
)

// bucketTable is the name of the table, with quotes.
func bucketTable(d Dialect, prefix string) (string, error) {
	if err := d.validate(); err != nil {
		return "", err
	}
	if prefix == "" {
		prefix = defaultPrefix
	}
	if err := identifier("prefix", prefix, longestPrefix, true); err != nil {
		return "", err
	}
	return d.quote(prefix + "bucket"), nil
}
