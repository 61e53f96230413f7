package sqlstore

import "strings"

// BucketSchema returns the statements that create the table of bucket stores, for a migration tool.
// A statement does nothing if its table exists. The prefix is the start of the table's name. A
// schema and a dot may come before it. An empty prefix is "spillway_".
func BucketSchema(d Dialect, prefix string) ([]string, error) {
	if err := d.validate(); err != nil {
		return nil, err
	}
	if err := checkPrefix("prefix of BucketSchema", prefix); err != nil {
		return nil, err
	}
	name, id, result, options := "bytea", "bytea", bucketResultDDL, ""
	switch d {
	case PostgreSQL:
		options = " WITH (fillfactor = 50)" // an update finds space on the page of its row
	case MySQL: // has no RETURNING, so it needs no result
		name, id, result, options = "VARBINARY(255)", "VARBINARY(192)", "", " ENGINE=InnoDB"
	case SQLite:
		name, id, options = "BLOB", "BLOB", " WITHOUT ROWID"
	}
	text := strings.NewReplacer("{bucket}", bucketTable(d, prefix), "{name}", name, "{id}", id, "{result}", result, "{options}", options)
	return []string{text.Replace(bucketDDL)}, nil
}

// The table. Times are in nanoseconds since 1970. The columns at_ns and used are a
// bucketstore.Level. The bucket is full once keep_ns have passed since at_ns. The result columns
// are the result of the last request.
const (
	bucketDDL = `CREATE TABLE IF NOT EXISTS {bucket} (
	name {name} NOT NULL,
	id {id} NOT NULL,
	at_ns BIGINT NOT NULL,
	used BIGINT NOT NULL,
	keep_ns BIGINT NOT NULL,{result}
	PRIMARY KEY (name, id)
){options}`
	bucketResultDDL = `
	taken_ns BIGINT NOT NULL,
	granted BIGINT NOT NULL,`
)

// bucketTable returns the name of the table in quotes, for a valid dialect and prefix.
func bucketTable(d Dialect, prefix string) string {
	if prefix == "" {
		prefix = defaultPrefix
	}
	return d.quote(prefix + "bucket")
}

// bucketSQL are the statements of a bucket store.
type bucketSQL struct {
	table, level, take, takeFixed, clamp, giveBack, giveBackFixed, reset, scan, deleteFull string
}

func newBucketSQL(d Dialect, table string) bucketSQL {
	text := strings.NewReplacer(append(d.replacements(), "{bucket}", table, "{ns}", "("+d.now()+" * 1000)",
		"{level}", "at_ns, used, keep_ns", "{result}", "taken_ns, granted")...)
	q := func(query string) string { return d.bind(text.Replace(query)) }
	s := bucketSQL{
		table:         q(bucketTableSQL),
		level:         q(levelSQL),
		take:          q(takeSQL + takeEndSQL),
		takeFixed:     q(takeFixedSQL + takeFixedEndSQL),
		clamp:         q(clampSQL),
		giveBack:      q(returnSQL),
		giveBackFixed: q(returnFixedSQL),
		reset:         q(resetBucketSQL),
		scan:          q(scanSQL),
		deleteFull:    text.Replace(deleteFullSQL),
	}
	switch d {
	case PostgreSQL:
		s.take = q(currentSQL + takePostgreSQL + takeEndSQL + resultSQL)
		s.takeFixed = q(currentSQL + takeFixedPostgreSQL + takeFixedEndSQL + resultSQL)
	case MySQL:
		s.take, s.takeFixed = q(takeMySQL), q(takeFixedMySQL)
	}
	return s
}

const (
	bucketTableSQL = `SELECT 1 FROM {bucket} WHERE 1 = 0`

	// levelSQL returns the time, and the level if there is a row.
	levelSQL = `SELECT n.t, b.at_ns, b.used FROM (SELECT {ns} AS t) n LEFT JOIN {bucket} b ON b.name = ? AND b.id = ?`
)

// The statements that take tokens. They insert the level of a bucket that was full, after a grant
// of excluded.granted tokens: the most that the request can have. If the row exists, they take up
// to that number of the row's tokens, if there are enough for the request. With a valid limit no
// expression can overflow, because an empty bucket is full within ten years.
const (
	takeSQL      = `INSERT INTO {bucket} AS b (name, id, {level}, {result}) VALUES (?, ?, {ns} + ?, 0, 0, {ns}, ?)`
	takeFixedSQL = `INSERT INTO {bucket} AS b (name, id, {level}, {result}) VALUES (?, ?, {ns} - {ns} % ?, ?, ?, {ns}, ?)`

	takeEndSQL = `
ON CONFLICT (name, id) DO UPDATE SET used = 0, keep_ns = 0, taken_ns = excluded.taken_ns,
	granted = {least}(excluded.granted, (excluded.taken_ns + CAST(? AS bigint) - {greatest}(b.at_ns, excluded.taken_ns)) / CAST(? AS bigint)),
	at_ns = {greatest}(b.at_ns, excluded.taken_ns) + CAST(? AS bigint) *
		{least}(excluded.granted, (excluded.taken_ns + CAST(? AS bigint) - {greatest}(b.at_ns, excluded.taken_ns)) / CAST(? AS bigint))
	WHERE b.at_ns <= excluded.taken_ns + CAST(? AS bigint)
RETURNING taken_ns, at_ns, used, granted`

	takeFixedEndSQL = `
ON CONFLICT (name, id) DO UPDATE SET keep_ns = excluded.keep_ns, taken_ns = excluded.taken_ns,
	granted = CASE WHEN b.at_ns < excluded.at_ns THEN excluded.granted ELSE {least}(excluded.granted, CAST(? AS bigint) - {greatest}(0, b.used)) END,
	used = CASE WHEN b.at_ns < excluded.at_ns THEN excluded.granted
		ELSE {greatest}(0, b.used) + {least}(excluded.granted, CAST(? AS bigint) - {greatest}(0, b.used)) END,
	at_ns = {greatest}(b.at_ns, excluded.at_ns)
	WHERE b.at_ns < excluded.at_ns OR b.at_ns <= excluded.taken_ns + excluded.keep_ns AND b.used <= CAST(? AS bigint)
RETURNING taken_ns, at_ns, used, granted`
)

// On PostgreSQL the statement first reads the row as it was when the statement began, and inserts
// only if that level has enough tokens. An INSERT locks the row before it evaluates its WHERE, and
// a lock is written to disk. If nothing is granted, the statement returns the level that it has
// read.
const (
	currentSQL = `WITH c AS MATERIALIZED (` + levelSQL + `), i AS (`

	takePostgreSQL = `INSERT INTO {bucket} AS b (name, id, {level}, {result})
SELECT CAST(? AS bytea), CAST(? AS bytea), c.t + CAST(? AS bigint), 0, 0, c.t, CAST(? AS bigint) FROM c
WHERE c.at_ns IS NULL OR c.at_ns <= c.t + CAST(? AS bigint)`

	takeFixedPostgreSQL = `INSERT INTO {bucket} AS b (name, id, {level}, {result})
SELECT CAST(? AS bytea), CAST(? AS bytea), c.t - c.t % CAST(? AS bigint), CAST(? AS bigint), CAST(? AS bigint), c.t, CAST(? AS bigint) FROM c
WHERE c.at_ns IS NULL OR c.at_ns < c.t - c.t % CAST(? AS bigint) OR c.at_ns <= c.t + CAST(? AS bigint) AND c.used <= CAST(? AS bigint)`

	resultSQL = `)
SELECT taken_ns, at_ns, used, granted FROM i UNION ALL
SELECT t, COALESCE(at_ns, 0), COALESCE(used, 0), 0 FROM c WHERE NOT EXISTS (SELECT 1 FROM i)`
)

// MySQL has no RETURNING. The statements return one number by LAST_INSERT_ID:
//
//   - of a Continuous bucket, 1 + the nanoseconds until the bucket was full, before the grant
//   - of a Fixed bucket, 1 + the tokens used before the grant, or 0 if the row is in another period
//     or has too few tokens
//
// A row of a Fixed bucket begins a new period only if its period is before the current one, by the
// clock. The level that was read before may be of a later period, and its row may have been deleted
// and inserted since.
//
// No assignment reads a column that an earlier one has assigned. Most versions read the new value
// there, but some modes of MariaDB read the old one.
const (
	takeMySQL = `INSERT INTO {bucket} (name, id, {level}) VALUES (?, ?, {ns} + CAST(? AS SIGNED) * LAST_INSERT_ID(1), 0, 0)
ON DUPLICATE KEY UPDATE used = IF(at_ns <= {ns} + CAST(? AS SIGNED), 0, used), keep_ns = IF(at_ns <= {ns} + CAST(? AS SIGNED), 0, keep_ns),
	at_ns = IF(LAST_INSERT_ID(GREATEST(at_ns, {ns}) - {ns} + 1) <= 1 + CAST(? AS SIGNED),
		GREATEST(at_ns, {ns}) + CAST(? AS SIGNED) *
			LEAST(CAST(? AS SIGNED), ({ns} + CAST(? AS SIGNED) - GREATEST(at_ns, {ns})) DIV CAST(? AS SIGNED)), at_ns)`

	takeFixedMySQL = `INSERT INTO {bucket} (name, id, {level}) VALUES (?, ?, ?, CAST(? AS SIGNED) * LAST_INSERT_ID(1), ?)
ON DUPLICATE KEY UPDATE
	keep_ns = IF(at_ns < CAST(? AS SIGNED) OR at_ns = VALUES(at_ns) AND used <= CAST(? AS SIGNED), VALUES(keep_ns), keep_ns),
	used = CASE LAST_INSERT_ID(IF(at_ns < CAST(? AS SIGNED), 1, IF(at_ns = VALUES(at_ns) AND used <= CAST(? AS SIGNED), 1 + GREATEST(0, used), 0)))
		WHEN 0 THEN used
		ELSE IF(at_ns < CAST(? AS SIGNED), VALUES(used), GREATEST(0, used) + LEAST(VALUES(used), CAST(? AS SIGNED) - GREATEST(0, used))) END,
	at_ns = IF(at_ns < CAST(? AS SIGNED), VALUES(at_ns), at_ns)`
)

const (
	clampSQL = `UPDATE {bucket} SET at_ns = ?, used = ?, keep_ns = ? WHERE name = ? AND id = ? AND at_ns = ? AND used = ?`

	returnSQL      = `UPDATE {bucket} SET at_ns = {greatest}({ns}, at_ns - ?), used = 0 WHERE name = ? AND id = ? AND at_ns > {ns}`
	returnFixedSQL = `UPDATE {bucket} SET used = {greatest}(0, used - ?) WHERE name = ? AND id = ? AND used > 0 AND at_ns >= {ns} - {ns} % ?`

	resetBucketSQL = `DELETE FROM {bucket} WHERE name = ? AND id = ?`

	scanSQL       = `SELECT id, CASE WHEN at_ns < {ns} - keep_ns - ? THEN 1 ELSE 0 END FROM {bucket} WHERE name = ? AND id > ? ORDER BY id LIMIT ?`
	deleteFullSQL = `DELETE FROM {bucket} WHERE name = ? AND at_ns < {ns} - keep_ns - ? AND id IN (`
)
