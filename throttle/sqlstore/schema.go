package sqlstore

import "strings"

const (
	defaultPrefix = "spillway_"
	longestPrefix = 40 // so that no name of a table is longer than longestIdentifier
)

// BreakerSchema returns the statements that create the tables of a breaker's store, for a migration tool. Each can be run again and
// does nothing then. An empty prefix is "spillway_"; a schema may stand before it, with a dot.
func BreakerSchema(d Dialect, prefix string) ([]string, error) {
	t, err := newBreakerTables(d, prefix)
	if err != nil {
		return nil, err
	}
	owner, name, id, data, options := "bytea", "bytea", "bytea", "bytea", ""
	switch d {
	case PostgreSQL:
		options = " WITH (fillfactor = 50)" // so that what is written again and again finds place on its page
	case MySQL:
		owner, name, id, data, options = "VARBINARY(1024)", "VARBINARY(255)", "BINARY(32)", "LONGBLOB", " ENGINE=InnoDB"
	case SQLite:
		owner, name, id, data, options = "BLOB", "BLOB", "BLOB", "BLOB", " WITHOUT ROWID"
	}
	text := strings.NewReplacer(append(t.words(), "{owner}", owner, "{name}", name, "{id}", id, "{data}", data, "{options}", options,
		"{record options}", recordOptions(d))...)
	return []string{text.Replace(leaseDDL), text.Replace(shardDDL), text.Replace(recordDDL), text.Replace(probeDDL)}, nil
}

// recordOptions are those of the table whose rows may be large: what is without a rowid in SQLite is slow with them.
func recordOptions(d Dialect) string {
	if d == MySQL {
		return " ENGINE=InnoDB"
	}
	return ""
}

// These create the tables. Names are bytes, because no collation knows better whether two of them are the same. Times
// are microseconds since 1970.
const (
	leaseDDL = `CREATE TABLE IF NOT EXISTS {lease} (
	name {name} NOT NULL PRIMARY KEY,
	owner {owner} NOT NULL,
	term BIGINT NOT NULL,
	until_us BIGINT NOT NULL,
	ttl_us BIGINT NOT NULL
){options}`
	shardDDL = `CREATE TABLE IF NOT EXISTS {shard} (
	name {name} NOT NULL,
	shard INTEGER NOT NULL,
	epoch BIGINT NOT NULL,
	number BIGINT NOT NULL,
	term BIGINT NOT NULL,
	PRIMARY KEY (name, shard)
){options}`
	recordDDL = `CREATE TABLE IF NOT EXISTS {record} (
	name {name} NOT NULL,
	shard INTEGER NOT NULL,
	id {id} NOT NULL,
	data {data} NOT NULL,
	PRIMARY KEY (name, shard, id)
){record options}`
	probeDDL = `CREATE TABLE IF NOT EXISTS {probe} (
	name {name} NOT NULL,
	id {id} NOT NULL,
	generation BIGINT NOT NULL,
	begins_us BIGINT NOT NULL,
	ends_us BIGINT NOT NULL,
	budget BIGINT NOT NULL,
	used BIGINT NOT NULL,
	granted BIGINT NOT NULL,
	PRIMARY KEY (name, id, generation)
){options}`
)

// breakerTables are the names of the tables, with quotes.
type breakerTables struct {
	dialect                     Dialect
	lease, shard, record, probe string
}

func newBreakerTables(d Dialect, prefix string) (breakerTables, error) {
	if err := d.validate(); err != nil {
		return breakerTables{}, err
	}
	if prefix == "" {
		prefix = defaultPrefix
	}
	if err := identifier("prefix", prefix, longestPrefix, true); err != nil {
		return breakerTables{}, err
	}
	return breakerTables{
		dialect: d,
		lease:   d.quote(prefix + "breaker_lease"), shard: d.quote(prefix + "breaker_shard"),
		record: d.quote(prefix + "breaker_record"), probe: d.quote(prefix + "breaker_probe"),
	}, nil
}

// words are what stands for the tables in our statements.
func (t breakerTables) words() []string {
	return append(t.dialect.words(), "{lease}", t.lease, "{shard}", t.shard, "{record}", t.record, "{probe}", t.probe)
}
