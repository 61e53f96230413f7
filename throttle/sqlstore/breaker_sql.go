package sqlstore

// BreakerSchema returns the statements that create the tables of a breaker's store, for a migration
// tool. A statement does nothing if its table exists. The prefix is the start of the table names. A
// schema and a dot may come before it. An empty prefix is "spillway_".
func BreakerSchema(d Dialect, prefix string) ([]string, error) {
	return schema("BreakerSchema", d, prefix, leaseDDL, shardDDL, recordDDL, probeDDL)
}

// The tables. Names are bytes, so no collation takes two different names for the same. Times are in
// microseconds since 1970.
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
	id {hash} NOT NULL,
	data {data} NOT NULL,
	PRIMARY KEY (name, shard, id)
){record options}`
	probeDDL = `CREATE TABLE IF NOT EXISTS {probe} (
	name {name} NOT NULL,
	id {hash} NOT NULL,
	generation BIGINT NOT NULL,
	begins_us BIGINT NOT NULL,
	ends_us BIGINT NOT NULL,
	budget BIGINT NOT NULL,
	used BIGINT NOT NULL,
	granted BIGINT NOT NULL,
	PRIMARY KEY (name, id, generation)
){options}`
)

// breakerSQL are the statements of a breaker's store.
type breakerSQL struct {
	tables string

	lease, insertLease, campaign, resign string

	versions, advance, raiseTerm, shard, insertShard, clearShard string

	load, deleteRecords, putRecords *manySQL

	now, oldProbes        string
	sweep                 *manySQL
	probe, used, probeUse *manySQL // the last two on MySQL only
}

func newBreakerSQL(d Dialect, prefix string, notify bool) breakerSQL {
	newProbe := newProbeSQL
	if d == MySQL {
		newProbe = newProbeMySQL
	}
	t := newTexts(d, prefix, "{new}", newProbe)
	advance := advanceSQL
	if notify {
		advance += " RETURNING pg_notify(?, '')" // sent when the transaction commits
	}
	s := breakerSQL{
		tables:      t.one(tablesSQL),
		lease:       t.one(leaseSQL),
		insertLease: t.one(insertLeaseSQL + " ON CONFLICT (name) DO NOTHING"),
		campaign:    t.one(campaignSQL),
		resign:      t.one(resignSQL),

		versions:    t.one(versionsSQL),
		advance:     t.one(advance),
		raiseTerm:   t.one(raiseTermSQL),
		shard:       t.one(shardSQL),
		insertShard: t.one(insertShardSQL),
		clearShard:  t.one(clearShardSQL),

		load:          t.many(loadSQL, "?", ")"),
		deleteRecords: t.many(deleteRecordsSQL, "?", ")"),
		putRecords:    t.many(putRecordsSQL, "(?, ?, ?, ?)", putRecordsEndSQL),

		now:       t.one("SELECT {now}"),
		oldProbes: t.one("SELECT id FROM {probe} WHERE " + oldProbeSQL + " AND id > ? ORDER BY id LIMIT ?"),
		sweep:     t.many("DELETE FROM {probe} WHERE "+oldProbeSQL+" AND id IN (", "?", ")"),
		probe:     t.many(probeSQL, probeRowSQL, probeEndSQL),
	}
	if d == MySQL {
		s.insertLease, s.insertShard = t.one(insertLeaseSQL+" ON DUPLICATE KEY UPDATE name = VALUES(name)"), t.one(insertShardMySQL)
		s.putRecords.tail = putRecordsEndMySQL
		s.probe, s.probeUse = t.many(probeSQL, probeRowSQL, probeEndMySQL), t.many(probeSQL, probeRowSQL, probeUseMySQL)
		s.used = t.many(usedSQL, "(?, ?)", ")")
	}
	return s
}

const tablesSQL = `SELECT 1 FROM {lease}, {shard}, {record}, {probe} WHERE 1 = 0`

// A lease is valid until its end. If more than twice its TTL remains, the clock was set back after
// the lease was granted, and the lease is not valid.
const (
	leaseSQL = `SELECT owner, term, until_us - c.now_us, CASE WHEN until_us > c.now_us AND until_us - c.now_us <= 2 * ttl_us THEN 1 ELSE 0 END
FROM {lease}, (SELECT {now} AS now_us) c WHERE name = ?`

	// Only the first assignment reads columns of the row. In MySQL later assignments may read the
	// new values of earlier ones.
	campaignSQL = `UPDATE {lease} SET term = CASE WHEN owner = ? AND until_us > {now} AND until_us - {now} <= 2 * ttl_us THEN term
		ELSE {greatest}(term + 1, {now}) END,
	owner = ?, until_us = {now} + ?, ttl_us = ?
WHERE name = ? AND (owner = ? OR until_us <= {now} OR until_us - {now} > 2 * ttl_us)`

	insertLeaseSQL = `INSERT INTO {lease} (name, owner, term, until_us, ttl_us) VALUES (?, ?, 0, 0, 0)`

	resignSQL = `UPDATE {lease} SET until_us = 0 WHERE name = ? AND owner = ? AND term = ?`
)

const (
	versionsSQL = `SELECT c.now_us, s.shard, s.epoch, s.number FROM (SELECT {now} AS now_us) c LEFT JOIN {shard} s ON s.name = ?`

	// Version and records are read by one statement, so they belong together.
	loadSQL = `SELECT s.shard, s.epoch, s.number, r.id, r.data FROM {shard} s LEFT JOIN {record} r ON r.name = s.name AND r.shard = s.shard
WHERE s.name = ? AND s.shard IN (`
)

const (
	// advanceSQL increments the version and locks the row until the transaction ends. It changes no
	// row if version and term are not the expected ones.
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

// A row is the budget of one period, and begins_us is its start. A request that has read the clock
// in an earlier period than that of the row takes from the period of the row. If that begins more than a
// minute after the period of the request, the clock was set back since: the request begins a new period.
const (
	probeSQL    = `INSERT INTO {probe} {as p}(name, id, generation, begins_us, ends_us, budget, used, granted) VALUES `
	probeEndSQL = ` ON CONFLICT (name, id, generation) DO UPDATE SET
	granted = {greatest}(0, {least}(excluded.granted, excluded.budget - CASE WHEN {new} THEN 0 ELSE p.used END)),
	used = CASE WHEN {new} THEN 0 ELSE p.used END + {greatest}(0, {least}(excluded.granted, excluded.budget - CASE WHEN {new} THEN 0 ELSE p.used END)),
	begins_us = CASE WHEN {new} THEN excluded.begins_us ELSE p.begins_us END, ends_us = CASE WHEN {new} THEN excluded.ends_us ELSE p.ends_us END,
	budget = excluded.budget
RETURNING id, generation, granted`
	newProbeSQL = `excluded.begins_us > p.begins_us OR p.begins_us > excluded.ends_us + 60000000`
	probeRowSQL = `(?, ?, ?, ?, ?, ?, ?, ?)`

	// MySQL has no RETURNING. One statement inserts and so locks the rows, another reads them, a
	// third updates them. No assignment reads a column that an earlier one has assigned. Most
	// versions read the new value there, but some modes of MariaDB read the old one.
	probeEndMySQL = ` ON DUPLICATE KEY UPDATE used = IF({new}, 0, used), ends_us = IF({new}, VALUES(ends_us), ends_us),
	begins_us = IF({new}, VALUES(begins_us), begins_us), budget = VALUES(budget)`
	newProbeMySQL = `VALUES(begins_us) > begins_us OR begins_us > VALUES(ends_us) + 60000000`
	usedSQL       = `SELECT id, generation, used FROM {probe} WHERE name = ? AND (id, generation) IN (`
	probeUseMySQL = ` ON DUPLICATE KEY UPDATE used = used + VALUES(granted), granted = VALUES(granted)`

	oldProbeSQL = `name = ? AND ends_us < {now} - ?`
)
