package sqlstore

import "strings"

// BucketSchema returns the statements that create the table of bucket stores, for a migration tool.
// A statement does nothing if its table exists. The prefix is the start of the table's name. A
// schema and a dot may come before it. An empty prefix is "spillway_".
func BucketSchema(d Dialect, prefix string) ([]string, error) {
	return schema("BucketSchema", d, prefix, bucketDDL)
}

// The table. Times are in nanoseconds since 1970. The columns from at_ns to other are a
// bucketstore.Level. If it has an Other, until_ns is when that is full, or else 0. The result columns
// are the result of the last request.
const (
	bucketDDL = `CREATE TABLE IF NOT EXISTS {bucket} (
	name {name} NOT NULL,
	id {key} NOT NULL,
	at_ns BIGINT NOT NULL,
	used BIGINT NOT NULL,
	interval_ns BIGINT NOT NULL,
	period_ns BIGINT NOT NULL,
	capacity BIGINT NOT NULL,
	until_ns BIGINT NOT NULL,
	other VARCHAR(120) NOT NULL DEFAULT '',{result columns}
	PRIMARY KEY (name, id)
){options}`
	bucketResultDDL = `
	taken_ns BIGINT NOT NULL,
	granted BIGINT NOT NULL,`
)

// bucketSQL are the statements of a bucket store.
type bucketSQL struct {
	table, level, take, takeFixed, swap, giveBack, reset, scan string

	clock, lockAll       string // the time, and the lock of a whole file
	lock, update, insert *manySQL
	deleteFull           *manySQL
	takeSome             *manySQL // on PostgreSQL
}

func newBucketSQL(d Dialect, prefix string) bucketSQL {
	t := newTexts(d, prefix, "{ns}", "("+d.now()+" * 1000)",
		"{level}", "at_ns, used, interval_ns, period_ns, capacity, until_ns", "{result}", "taken_ns, granted")
	one := strings.NewReplacer("{burst}", "CAST(? AS bigint)", "{ahead}", "CAST(? AS bigint)")
	s := bucketSQL{
		table:      t.one(bucketTableSQL),
		level:      t.one(levelSQL),
		take:       t.one(takeSQL + one.Replace(takeEndSQL)),
		takeFixed:  t.one(takeFixedSQL + takeFixedEndSQL),
		swap:       t.one(swapSQL),
		giveBack:   t.one(returnSQL),
		reset:      t.one(resetBucketSQL),
		scan:       t.one(scanSQL),
		deleteFull: t.many(deleteFullSQL, "?", ")"),

		clock:   t.one("SELECT {ns}"),
		lockAll: t.one(lockAllSQL),
		lock:    t.many(lockSQL, "?", lockEndSQL+" FOR UPDATE"),
		update:  t.many(rowsSQL, rowSQL, updateEndSQL),
		insert:  t.many(rowsSQL, rowSQL, insertEndSQL),
	}
	switch d {
	case PostgreSQL:
		s.lock = t.many(lockPostgreSQL, "", "")
		s.update, s.insert = t.many(rowsPostgreSQL, "", updateEndSQL), t.many(rowsPostgreSQL, "", insertEndSQL)
		s.take = t.one(currentSQL + takePostgreSQL + one.Replace(takeEndSQL) + resultSQL)
		some := strings.NewReplacer("{burst}", "excluded.capacity * excluded.interval_ns", "{ahead}", "excluded.interval_ns * (excluded.capacity - 1)")
		s.takeSome = t.many(takeSomePostgreSQL+some.Replace(takeEndSQL), "", resultSomeSQL)
		s.takeFixed = t.one(currentSQL + takeFixedPostgreSQL + takeFixedEndSQL + resultSQL)
	case MySQL:
		s.take, s.takeFixed = t.one(takeMySQL), t.one(takeFixedMySQL)
		s.update = t.many(rowsMySQL, rowMySQL, updateEndMySQL)
		s.insert = t.many(insertRowsMySQL, rowMySQL, "")
	case SQLite:
		s.lock.tail = lockEndSQL
	}
	return s
}

const (
	bucketTableSQL = `SELECT 1 FROM {bucket} WHERE 1 = 0`

	// levelSQL returns the time, and the level if there is a row.
	levelSQL = `SELECT n.t, {level}, other FROM (SELECT {ns} AS t) n LEFT JOIN {bucket} b ON b.name = ? AND b.id = ?`
)

// The statements that take tokens. They insert the level of a bucket that was full, after a grant
// of excluded.granted tokens: the most that the request can have. If the row exists and the same
// limit has written it, they take up to that number of the row's tokens, if there are enough for
// the request. Of any other row the client computes the next level, and swaps it. With a valid
// limit no expression can overflow, because an empty bucket is full within ten years.
const (
	takeSQL      = `INSERT INTO {bucket} AS b (name, id, {level}, {result}) VALUES (?, ?, {ns} + ?, 0, ?, 0, ?, 0, {ns}, ?)`
	takeFixedSQL = `INSERT INTO {bucket} AS b (name, id, {level}, {result}) VALUES (?, ?, {ns} - {ns} % ?, ?, 0, ?, ?, 0, {ns}, ?)`

	takeEndSQL = `
ON CONFLICT (name, id) DO UPDATE SET taken_ns = excluded.taken_ns,
	granted = {least}(excluded.granted, (excluded.taken_ns + {burst} - {greatest}(b.at_ns, excluded.taken_ns)) / excluded.interval_ns),
	at_ns = {greatest}(b.at_ns, excluded.taken_ns) + excluded.interval_ns *
		{least}(excluded.granted, (excluded.taken_ns + {burst} - {greatest}(b.at_ns, excluded.taken_ns)) / excluded.interval_ns)
	WHERE b.interval_ns = excluded.interval_ns AND b.capacity = excluded.capacity AND b.until_ns = 0 AND b.at_ns <= excluded.taken_ns + {ahead}
RETURNING taken_ns, granted, {level}, other`

	takeFixedEndSQL = `
ON CONFLICT (name, id) DO UPDATE SET taken_ns = excluded.taken_ns,
	granted = CASE WHEN b.at_ns < excluded.at_ns THEN excluded.granted ELSE {least}(excluded.granted, excluded.capacity - {greatest}(0, b.used)) END,
	used = CASE WHEN b.at_ns < excluded.at_ns THEN excluded.granted
		ELSE {greatest}(0, b.used) + {least}(excluded.granted, excluded.capacity - {greatest}(0, b.used)) END,
	at_ns = {greatest}(b.at_ns, excluded.at_ns)
	WHERE b.period_ns = excluded.period_ns AND b.capacity = excluded.capacity AND b.until_ns = 0 AND b.used <= b.capacity
		AND (b.at_ns < excluded.at_ns OR b.at_ns <= excluded.taken_ns + excluded.period_ns AND b.used <= CAST(? AS bigint))
RETURNING taken_ns, granted, {level}, other`
)

// On PostgreSQL the statement first reads the row as it was when the statement began, and inserts
// only if that level has enough tokens. An INSERT locks the row before it evaluates its WHERE, and
// a lock is written to disk. If nothing is granted, the statement returns the level that it has
// read.
const (
	currentSQL = `WITH c AS MATERIALIZED (` + levelSQL + `), i AS (`

	takePostgreSQL = `INSERT INTO {bucket} AS b (name, id, {level}, {result})
SELECT CAST(? AS bytea), CAST(? AS bytea), c.t + CAST(? AS bigint), 0, CAST(? AS bigint), 0, CAST(? AS bigint), 0, c.t, CAST(? AS bigint) FROM c
WHERE c.at_ns IS NULL OR c.interval_ns = CAST(? AS bigint) AND c.at_ns <= c.t + CAST(? AS bigint)`

	takeFixedPostgreSQL = `INSERT INTO {bucket} AS b (name, id, {level}, {result})
SELECT CAST(? AS bytea), CAST(? AS bytea), c.t - c.t % CAST(? AS bigint), CAST(? AS bigint), 0, CAST(? AS bigint), CAST(? AS bigint), 0, c.t,
	CAST(? AS bigint) FROM c
WHERE c.at_ns IS NULL OR c.period_ns = CAST(? AS bigint)
	AND (c.at_ns < c.t - c.t % CAST(? AS bigint) OR c.at_ns <= c.t + CAST(? AS bigint) AND c.used <= CAST(? AS bigint))`

	resultSQL = `)
SELECT taken_ns, granted, {level}, other FROM i UNION ALL
SELECT t, 0, COALESCE(at_ns, 0), COALESCE(used, 0), COALESCE(interval_ns, 0), COALESCE(period_ns, 0), COALESCE(capacity, 0), COALESCE(until_ns, 0),
	COALESCE(other, '')
FROM c WHERE NOT EXISTS (SELECT 1 FROM i)`
)

// The same for several Continuous buckets, of each of which at least one token is taken.
const (
	takeSomePostgreSQL = `WITH r AS MATERIALIZED (SELECT * FROM unnest(CAST(CAST(? AS text) AS bytea[]), CAST(CAST(? AS text) AS bytea[]),
	CAST(CAST(? AS text) AS bigint[]), CAST(CAST(? AS text) AS bigint[]), CAST(CAST(? AS text) AS bigint[])) r (name, id, most, i, cap)),
c AS MATERIALIZED (SELECT r.*, {ns} AS t, b.* FROM r LEFT JOIN LATERAL
	(SELECT {level}, other FROM {bucket} WHERE name = r.name AND id = r.id OFFSET 0) b ON TRUE),
i AS (INSERT INTO {bucket} AS b (name, id, {level}, {result})
SELECT c.name, c.id, c.t + c.most * c.i, 0, c.i, 0, c.cap, 0, c.t, c.most FROM c
WHERE c.at_ns IS NULL OR c.interval_ns = c.i AND c.at_ns <= c.t + c.i * (c.cap - 1)
ORDER BY c.id`

	resultSomeSQL = `, id)
SELECT id, taken_ns, granted, {level}, other FROM i UNION ALL
SELECT id, t, 0, at_ns, used, interval_ns, period_ns, capacity, until_ns, other FROM c WHERE NOT EXISTS (SELECT 1 FROM i WHERE i.id = c.id)`
)

// MySQL has no RETURNING. The statements return one number by LAST_INSERT_ID:
//
//   - of a Continuous bucket, 1 + the nanoseconds until the bucket was full, before the grant, or 0
//     if another limit has written the row
//   - of a Fixed bucket, 1 + the tokens used before the grant, or 0 if the row is in another period
//     or has too few tokens, or another limit has written it
//
// A row of a Fixed bucket begins a new period only if its period is before the current one, by the
// clock. The level that was read before may be of a later period, and its row may have been deleted
// and inserted since.
//
// No assignment depends on whether a column that an earlier one has assigned has its old or its new
// value. Most versions read the new value there, but some modes of MariaDB read the old one.
const (
	takeMySQL = `INSERT INTO {bucket} (name, id, {level})
VALUES (?, ?, {ns} + CAST(? AS SIGNED) * LAST_INSERT_ID(1), 0, CAST(? AS SIGNED), 0, CAST(? AS SIGNED), 0)
ON DUPLICATE KEY UPDATE
	at_ns = IF(LAST_INSERT_ID(IF(interval_ns = VALUES(interval_ns) AND capacity = VALUES(capacity) AND until_ns = 0,
			GREATEST(at_ns, {ns}) - {ns} + 1, 0)) BETWEEN 1 AND 1 + CAST(? AS SIGNED),
		GREATEST(at_ns, {ns}) + VALUES(interval_ns) *
			LEAST(CAST(? AS SIGNED), ({ns} + CAST(? AS SIGNED) - GREATEST(at_ns, {ns})) DIV VALUES(interval_ns)), at_ns)`

	takeFixedMySQL = `INSERT INTO {bucket} (name, id, {level})
VALUES (?, ?, ?, CAST(? AS SIGNED) * LAST_INSERT_ID(1), 0, CAST(? AS SIGNED), CAST(? AS SIGNED), 0)
ON DUPLICATE KEY UPDATE
	used = CASE LAST_INSERT_ID(IF(period_ns = VALUES(period_ns) AND capacity = VALUES(capacity) AND until_ns = 0 AND used <= capacity,
			IF(at_ns < CAST(? AS SIGNED), 1, IF(at_ns = VALUES(at_ns) AND used <= CAST(? AS SIGNED), 1 + GREATEST(0, used), 0)), 0))
		WHEN 0 THEN used
		ELSE IF(at_ns < CAST(? AS SIGNED), VALUES(used), GREATEST(0, used) + LEAST(VALUES(used), capacity - GREATEST(0, used))) END,
	at_ns = IF(period_ns = VALUES(period_ns) AND capacity = VALUES(capacity) AND until_ns = 0 AND used <= capacity AND at_ns < CAST(? AS SIGNED), VALUES(at_ns), at_ns)`
)

// The statements of a transaction for many buckets. The first ones lock and read rows, and the others
// write levels that the client has computed. A row that was missing is inserted only if it still is.
const (
	lockAllSQL = `UPDATE {bucket} SET used = used WHERE 1 = 0`
	lockSQL    = `SELECT id, {ns}, {level}, other FROM {bucket} WHERE name = ? AND id IN (`
	lockEndSQL = `) ORDER BY id`

	rowsSQL      = `INSERT INTO {bucket} (name, id, {level}, other, {result}) VALUES `
	rowSQL       = `(?, ?, ?, ?, ?, ?, ?, ?, ?, 0, 0)`
	updateEndSQL = ` ON CONFLICT (name, id) DO UPDATE SET at_ns = excluded.at_ns, used = excluded.used,
	interval_ns = excluded.interval_ns, period_ns = excluded.period_ns, capacity = excluded.capacity, until_ns = excluded.until_ns, other = excluded.other`
	insertEndSQL = ` ON CONFLICT (name, id) DO NOTHING`

	// An array in place of a list, so that the text does not depend on the number of rows: PostgreSQL
	// prepares each text once, which takes long for a list. The arrays are texts, which all drivers send.
	lockPostgreSQL = `SELECT b.* FROM (SELECT CAST(? AS bytea) AS name) n, unnest(CAST(CAST(? AS text) AS bytea[])) r,
LATERAL (SELECT id, {ns}, {level}, other FROM {bucket} WHERE name = n.name AND id = r OFFSET 0 FOR UPDATE) b`
	rowsPostgreSQL = `INSERT INTO {bucket} (name, id, {level}, other, {result}) SELECT r.*, 0, 0
FROM unnest(CAST(CAST(? AS text) AS bytea[]), CAST(CAST(? AS text) AS bytea[]), CAST(CAST(? AS text) AS bigint[]), CAST(CAST(? AS text) AS bigint[]), CAST(CAST(? AS text) AS bigint[]),
	CAST(CAST(? AS text) AS bigint[]), CAST(CAST(? AS text) AS bigint[]), CAST(CAST(? AS text) AS bigint[]), CAST(CAST(? AS text) AS varchar[])) r`

	rowsMySQL      = `INSERT INTO {bucket} (name, id, {level}, other) VALUES `
	rowMySQL       = `(?, ?, ?, ?, ?, ?, ?, ?, ?)`
	updateEndMySQL = ` ON DUPLICATE KEY UPDATE at_ns = VALUES(at_ns), used = VALUES(used),
	interval_ns = VALUES(interval_ns), period_ns = VALUES(period_ns), capacity = VALUES(capacity), until_ns = VALUES(until_ns), other = VALUES(other)`
	insertRowsMySQL = `INSERT IGNORE INTO {bucket} (name, id, {level}, other) VALUES `
)

const (
	// swapSQL writes a level that was computed from another one, if the row still has that.
	swapSQL = `UPDATE {bucket} SET at_ns = ?, used = ?, interval_ns = ?, period_ns = ?, capacity = ?, until_ns = ?, other = ?
WHERE name = ? AND id = ? AND at_ns = ? AND used = ? AND interval_ns = ? AND period_ns = ? AND capacity = ? AND until_ns = ? AND other = ?`

	// returnSQL gives tokens back to the limit that wrote the row.
	returnSQL = `UPDATE {bucket} SET
	used = CASE WHEN period_ns > 0 THEN {greatest}(0, used - ?) ELSE 0 END,
	at_ns = CASE WHEN interval_ns > 0 THEN {greatest}({ns}, at_ns - interval_ns * {least}(?, (at_ns - {ns}) {div} NULLIF(interval_ns, 0) + 1)) ELSE at_ns END
WHERE name = ? AND id = ? AND (interval_ns > 0 AND at_ns > {ns} OR used > 0 AND at_ns >= {ns} - {ns} % NULLIF(period_ns, 0))`

	resetBucketSQL = `DELETE FROM {bucket} WHERE name = ? AND id = ?`

	// A row with more used tokens than its capacity was charged for another limit. It is not swept.
	scanSQL       = `SELECT id, CASE WHEN ` + fullSQL + ` THEN 1 ELSE 0 END FROM {bucket} WHERE name = ? AND id > ? ORDER BY id LIMIT ?`
	deleteFullSQL = `DELETE FROM {bucket} WHERE name = ? AND ` + fullSQL + ` AND id IN (`
	fullSQL       = `at_ns < {ns} - period_ns - ? AND used <= capacity AND until_ns < {ns}`
)
