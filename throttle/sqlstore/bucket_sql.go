package sqlstore

import (
	"strings"
)

// BucketSchema returns the statements that create the table of bucket stores, for a migration tool. Each can be run again and does nothing
// then. An empty prefix is "spillway_"; a schema may stand before it, with a dot.
func BucketSchema(d Dialect, prefix string) ([]string, error) {
	table, err := bucketTable(d, prefix)
	if err != nil {
		return nil, err
	}
	name, id, answer, options := "bytea", "bytea", bucketResultDDL, ""
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
	bucketResultDDL = `
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
	if err := identifier("prefix", prefix, maxPrefix, true); err != nil {
		return "", err
	}
	return d.quote(prefix + "bucket"), nil
}

// bucketSQL are the statements of a bucket store.
type bucketSQL struct {
	table, level, take, takeFixed, clamp, giveBack, giveBackFixed, reset, full, forget string
}

func newBucketSQL(d Dialect, table string) bucketSQL {
	text := strings.NewReplacer(append(d.words(), "{bucket}", table, "{ns}", "("+d.now()+" * 1000)",
		"{level}", "at_ns, used, keep_ns", "{answer}", "taken_ns, granted")...)
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
		full:          q(scanSQL),
		forget:        text.Replace(deleteFullSQL),
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

	// What is read is a bucket's level and the time, of which there is one also if there is no row.
	levelSQL = `SELECT n.t, b.at_ns, b.used FROM (SELECT {ns} AS t) n LEFT JOIN {bucket} b ON b.name = ? AND b.id = ?`
)

// These take tokens. What is inserted is the level of a bucket that was full, from which excluded.granted tokens were taken: as many as were
// asked for, or all. If there is a row, as many of them are taken as it allows, if these are enough. No arithmetic here can
// overflow with a valid limit: an empty bucket is full within ten years.
const (
	takeSQL      = `INSERT INTO {bucket} AS b (name, id, {level}, {answer}) VALUES (?, ?, {ns} + ?, 0, 0, {ns}, ?)`
	takeFixedSQL = `INSERT INTO {bucket} AS b (name, id, {level}, {answer}) VALUES (?, ?, {ns} - {ns} % ?, ?, ?, {ns}, ?)`

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

// PostgreSQL first looks at the row as it was when the statement began, and inserts only if that allows it: an INSERT locks a row before
// it finds out whether it may change it, and a lock is written to the disk. What it has found is returned if nothing was granted.
const (
	currentSQL = `WITH c AS MATERIALIZED (` + levelSQL + `), i AS (`

	takePostgreSQL = `INSERT INTO {bucket} AS b (name, id, {level}, {answer})
SELECT CAST(? AS bytea), CAST(? AS bytea), c.t + CAST(? AS bigint), 0, 0, c.t, CAST(? AS bigint) FROM c
WHERE c.at_ns IS NULL OR c.at_ns <= c.t + CAST(? AS bigint)`

	takeFixedPostgreSQL = `INSERT INTO {bucket} AS b (name, id, {level}, {answer})
SELECT CAST(? AS bytea), CAST(? AS bytea), c.t - c.t % CAST(? AS bigint), CAST(? AS bigint), CAST(? AS bigint), c.t, CAST(? AS bigint) FROM c
WHERE c.at_ns IS NULL OR c.at_ns < c.t - c.t % CAST(? AS bigint) OR c.at_ns <= c.t + CAST(? AS bigint) AND c.used <= CAST(? AS bigint)`

	resultSQL = `)
SELECT taken_ns, at_ns, used, granted FROM i UNION ALL
SELECT t, COALESCE(at_ns, 0), COALESCE(used, 0), 0 FROM c WHERE NOT EXISTS (SELECT 1 FROM i)`
)

// MySQL returns no rows, but one number: 1 more than how long it was until the bucket was full, by which everything is known of a Continuous
// one. Of a Fixed one it is 1 more than what was used; 0 if it is in another period, or has not enough. Only what lies before the period's own
// start begins a new one: a level that was found may be later, and its row may be gone and made anew since. Each assignment looks at what
// none before it has assigned: usually they see what those have done, but not in all modes of MariaDB.
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
