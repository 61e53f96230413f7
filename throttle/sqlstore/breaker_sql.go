package sqlstore

import (
	"strings"
)

const (
	defaultPrefix = "spillway_"
	maxPrefix     = 40 // so that no name of a table is longer than longestIdentifier
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
	if err := identifier("prefix", prefix, maxPrefix, true); err != nil {
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

// breakerSQL are the statements of a breaker's store. Those that a list of rows belongs into end where it does.
type breakerSQL struct {
	tables string

	lease, insertLease, campaign, resign string

	versions, load, advance, raiseTerm, shard, begin, empty string

	deleteRecords, putRecords, putRecordsEnd string

	now, probe, probeEnd, used, sweep string
}

func newBreakerSQL(t breakerTables, notify bool) breakerSQL {
	text := strings.NewReplacer(t.words()...)
	q := func(query string) string { return t.dialect.bind(text.Replace(query)) }
	s := breakerSQL{
		tables:      q(tablesSQL),
		lease:       q(leaseSQL),
		insertLease: q(insertLeaseSQL + " ON CONFLICT (name) DO NOTHING"),
		campaign:    q(campaignSQL),
		resign:      q(resignSQL),

		versions:  q(versionsSQL),
		load:      text.Replace(loadSQL),
		advance:   advanceSQL,
		raiseTerm: q(raiseTermSQL),
		shard:     q(shardSQL),
		begin:     q(insertShardSQL),
		empty:     q(clearShardSQL),

		deleteRecords: text.Replace(deleteRecordsSQL),
		putRecords:    text.Replace(putRecordsSQL),
		putRecordsEnd: putRecordsEndSQL,

		now:      q("SELECT {now}"),
		probe:    text.Replace(probeSQL),
		probeEnd: text.Replace(probeEndSQL),
		used:     text.Replace(usedSQL),
		sweep:    q(sweepSQL),
	}
	if t.dialect == MySQL {
		s.insertLease, s.begin = q(insertLeaseSQL+" ON DUPLICATE KEY UPDATE name = VALUES(name)"), q(insertShardMySQL)
		s.putRecordsEnd, s.probeEnd = putRecordsEndMySQL, probeEndMySQL
	}
	if notify {
		s.advance += " RETURNING pg_notify(?, '')" // told at the commit, and only then
	}
	s.advance = q(s.advance)
	return s
}

const tablesSQL = `SELECT 1 FROM {lease}, {shard}, {record}, {probe} WHERE 1 = 0`

// A lease holds while it lasts. One that lasts for more than twice what its owner asked for was given before the clock went
// back, an hour perhaps, and nobody should wait for its end.
const (
	leaseSQL = `SELECT owner, term, until_us - c.now_us, CASE WHEN until_us > c.now_us AND until_us - c.now_us <= 2 * ttl_us THEN 1 ELSE 0 END
FROM {lease}, (SELECT {now} AS now_us) c WHERE name = ?`

	// Only the first assignment looks at what the row has, because MySQL's later ones might see what it has got.
	campaignSQL = `UPDATE {lease} SET term = CASE WHEN owner = ? AND until_us > {now} AND until_us - {now} <= 2 * ttl_us THEN term
		ELSE {greatest}(term + 1, {now}) END,
	owner = ?, until_us = {now} + ?, ttl_us = ?
WHERE name = ? AND (owner = ? OR until_us <= {now} OR until_us - {now} > 2 * ttl_us)`

	insertLeaseSQL = `INSERT INTO {lease} (name, owner, term, until_us, ttl_us) VALUES (?, ?, 0, 0, 0)`

	resignSQL = `UPDATE {lease} SET until_us = 0 WHERE name = ? AND owner = ? AND term = ?`
)

const (
	versionsSQL = `SELECT c.now_us, s.shard, s.epoch, s.number FROM (SELECT {now} AS now_us) c LEFT JOIN {shard} s ON s.name = ?`

	// One statement sees one state of the database: a shard's version is that of its records.
	loadSQL = `SELECT s.shard, s.epoch, s.number, r.id, r.data FROM {shard} s LEFT JOIN {record} r ON r.name = s.name AND r.shard = s.shard
WHERE s.name = ? AND s.shard IN (`
)

const (
	// advanceSQL counts a write, and lets nobody else write until the transaction ends. It finds no row if somebody has written.
	advanceSQL = `UPDATE {shard} SET number = number + 1, epoch = CASE WHEN epoch = 0 THEN {now} ELSE epoch END, term = {greatest}(term, ?)
WHERE name = ? AND shard = ? AND epoch = ? AND number = ? AND term <= ?`
	raiseTermSQL = `UPDATE {shard} SET term = {greatest}(term, ?) WHERE name = ? AND shard = ? AND epoch = ? AND number = ? AND term <= ?`

	shardSQL         = `SELECT epoch, number, term FROM {shard} WHERE name = ? AND shard = ?`
	insertShardSQL   = `INSERT INTO {shard} (name, shard, epoch, number, term) VALUES (?, ?, 0, 0, 0) ON CONFLICT (name, shard) DO NOTHING`
	insertShardMySQL = `INSERT INTO {shard} (name, shard, epoch, number, term) VALUES (?, ?, 0, 0, 0) ON DUPLICATE KEY UPDATE number = number`
	clearShardSQL    = `DELETE FROM {record} WHERE name = ? AND shard = ?`

	deleteRecordsSQL   = `DELETE FROM {record} WHERE name = ? AND shard = ? AND id IN (`
	putRecordsSQL      = `INSERT INTO {record} (name, shard, id, data) VALUES `
	putRecordsEndSQL   = ` ON CONFLICT (name, shard, id) DO UPDATE SET data = excluded.data`
	putRecordsEndMySQL = ` ON DUPLICATE KEY UPDATE data = VALUES(data)`
)

// A budget is known by when it begins. Who read the clock before another who began the next one, but comes after him, takes from that.
const (
	probeSQL    = `INSERT INTO {probe} {as p}(name, id, generation, begins_us, ends_us, budget, used, granted) VALUES `
	probeEndSQL = ` ON CONFLICT (name, id, generation) DO UPDATE SET
	granted = {greatest}(0, {least}(excluded.granted, excluded.budget - CASE WHEN excluded.begins_us > p.begins_us THEN 0 ELSE p.used END)),
	used = CASE WHEN excluded.begins_us > p.begins_us THEN 0 ELSE p.used END +
		{greatest}(0, {least}(excluded.granted, excluded.budget - CASE WHEN excluded.begins_us > p.begins_us THEN 0 ELSE p.used END)),
	begins_us = {greatest}(p.begins_us, excluded.begins_us), ends_us = {greatest}(p.ends_us, excluded.ends_us), budget = excluded.budget
RETURNING id, generation, granted`

	// MySQL returns nothing, so the rows are made first, which locks them, then read, then written. Each assignment looks at what none before
	// it has assigned: usually they see what those have done, but not in all modes of MariaDB.
	probeEndMySQL = ` ON DUPLICATE KEY UPDATE used = IF(VALUES(begins_us) > begins_us, 0, used),
	begins_us = GREATEST(begins_us, VALUES(begins_us)), ends_us = GREATEST(ends_us, VALUES(ends_us)), budget = VALUES(budget)`
	usedSQL       = `SELECT id, generation, used FROM {probe} WHERE name = ? AND (id, generation) IN (`
	probeUseMySQL = ` ON DUPLICATE KEY UPDATE used = used + VALUES(granted), granted = VALUES(granted)`

	sweepSQL = `DELETE FROM {probe} WHERE name = ? AND ends_us < {now} - ?`
)
