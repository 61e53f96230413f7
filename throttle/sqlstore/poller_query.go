package sqlstore

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/spillway-go/spillway/throttle/breaker"
)

type queryBuilder struct {
	dialect Dialect
	config  *PollerConfig
	args    []any
}

// keyWindow is the window of one key, in the JSON that the query reads.
type keyWindow struct {
	Tenant string `json:"tenant"`
	ID     string `json:"id"`
	Micros int64  `json:"span"`
}

// build returns the query. The inner SELECT reads each row of the window once, with its result: 1
// for a failure, 0 for a success, NULL for neither. The windows of single keys are one JSON
// parameter, because databases limit the number of parameters. So the text of the query is
// constant.
func (b *queryBuilder) build(q breaker.PollQuery) (string, error) {
	c := b.config
	tenant, key, reporter := "''", b.dialect.text(b.column(c.KeyColumn)), "NULL"
	if c.TenantColumn != "" {
		tenant = "COALESCE(" + b.dialect.text(b.column(c.TenantColumn)) + ", '')"
	}
	if c.ReporterColumn != "" {
		reporter = b.column(c.ReporterColumn)
	}
	minFailures := q.MinFailures
	if !(minFailures > 0) { // also NaN
		minFailures = 0
	}
	span, join, where, having := "NULL", "", "", ""
	outcome := b.outcome()
	if len(q.Since) > 0 {
		list, err := json.Marshal(b.keyWindows(q))
		if err != nil {
			return "", err
		}
		span, join, having = "s.spillway_span", b.join(b.arg(string(list), ""), tenant, key), " OR MAX(p.span) IS NOT NULL"
		where = " AND (s.spillway_span IS NULL OR " + b.since("s.spillway_span") + ")"
	}
	return "SELECT p.tenant, p.id, SUM(p.failed), COUNT(p.failed), COUNT(DISTINCT CASE WHEN p.failed = 1 THEN p.reporter END)" +
		"\nFROM (SELECT " + tenant + " AS tenant, " + key + " AS id, " + outcome + " AS failed, " + reporter + " AS reporter, " + span + " AS span" +
		"\nFROM " + b.dialect.quote(c.Table) + " d" + join +
		"\nWHERE " + b.since(strconv.FormatInt(q.Window.Microseconds(), 10)) + where + " AND " + b.column(c.KeyColumn) + " IS NOT NULL" +
		"\n) p GROUP BY p.tenant, p.id HAVING SUM(p.failed) >= " + b.arg(minFailures, "double precision") + having, nil
}

func (b *queryBuilder) column(name string) string { return "d." + b.dialect.quote(name) }

func (b *queryBuilder) since(ago string) string {
	return b.config.TimeType.since(b.dialect, b.column(b.config.TimeColumn), ago)
}

// arg adds a parameter and returns its placeholder, with a cast for PostgreSQL, which cannot infer
// every type.
func (b *queryBuilder) arg(value any, postgresType string) string {
	b.args = append(b.args, value)
	if b.dialect != PostgreSQL {
		return "?"
	}
	placeholder := "$" + strconv.Itoa(len(b.args))
	if postgresType == "" {
		return placeholder
	}
	return "CAST(" + placeholder + " AS " + postgresType + ")"
}

// outcome returns the expression for the result of a row: 1, 0 or NULL.
func (b *queryBuilder) outcome() string {
	c := b.config
	failed, succeeded := "("+c.FailedIf+")", "NOT ("+c.FailedIf+")"
	if c.SucceededIf != "" {
		succeeded = "(" + c.SucceededIf + ")"
	}
	if c.StatusColumn != "" {
		failed = b.in(c.Failed)
		succeeded = b.column(c.StatusColumn) + " IS NOT NULL"
		if len(c.Succeeded) > 0 {
			succeeded = b.in(c.Succeeded)
		}
	}
	return "CASE WHEN " + failed + " THEN 1 WHEN " + succeeded + " THEN 0 END"
}

func (b *queryBuilder) in(values []any) string {
	placeholders := make([]string, len(values))
	for i, v := range values {
		placeholders[i] = b.arg(v, "")
	}
	return b.column(b.config.StatusColumn) + " IN (" + strings.Join(placeholders, ", ") + ")"
}

// text returns an expression for a column as text that is compared byte by byte. By default most
// collations of MySQL ignore case and trailing blanks, but a breaker does not.
func (d Dialect) text(column string) string {
	switch d {
	case PostgreSQL:
		return "CAST(" + column + " AS text)"
	case MySQL:
		return "CAST(CONVERT(" + column + " USING utf8mb4) AS BINARY)"
	}
	return "CAST(" + column + " AS TEXT) COLLATE BINARY"
}

// join returns the JOIN of the windows of single keys and the rows. Keys can be any bytes, and each
// database compares them in another form:
//
//   - PostgreSQL as text. Its text is always valid UTF-8 without NUL, so it has no rows of other
//     keys.
//   - MySQL as a hash, for which it can make an index. Without one it would compare each row with
//     each key.
//   - SQLite in hexadecimal.
//
// FailedIf names columns of the table without a prefix. So no column of the list may have the name of one.
func (b *queryBuilder) join(list, tenant, key string) string {
	switch b.dialect {
	case PostgreSQL:
		return "\nLEFT JOIN (SELECT tenant AS spillway_tenant, id AS spillway_id, span AS spillway_span" +
			" FROM json_to_recordset(CAST(CAST(" + list + " AS text) AS json)) AS r(tenant text, id text, span bigint)) s ON s.spillway_id = " + key +
			" AND s.spillway_tenant = " + tenant
	case MySQL:
		return "\nLEFT JOIN (SELECT DISTINCT id AS spillway_id, span AS spillway_span FROM JSON_TABLE(" + list +
			", '$[*]' COLUMNS (id CHAR(64) CHARACTER SET ascii COLLATE ascii_bin PATH '$.id', span BIGINT PATH '$.span')) j) s" +
			" ON s.spillway_id = CONVERT(SHA2(CONCAT(LENGTH(" + tenant + "), ':', " + tenant + ", " + key + "), 256) USING ascii)"
	}
	// LIMIT makes SQLite store the list as a table. SQLite assumes that a list of JSON is short and
	// needs no index. The second list makes the estimate larger.
	return "\nLEFT JOIN (SELECT json_extract(l.value, '$.tenant') AS spillway_tenant, json_extract(l.value, '$.id') AS spillway_id, " +
		"json_extract(l.value, '$.span') AS spillway_span FROM json_each(" + list + ") l, json_each('[0]') LIMIT -1) s" +
		" ON s.spillway_id = hex(" + key + ") AND s.spillway_tenant = hex(" + tenant + ")"
}

// keyWindows returns the windows of single keys, in the form in which join compares them. It leaves
// out keys that cannot have rows.
func (b *queryBuilder) keyWindows(q breaker.PollQuery) []keyWindow {
	windows := make([]keyWindow, 0, len(q.Since))
	for k, since := range q.Since {
		if k.Tenant != "" && b.config.TenantColumn == "" {
			continue
		}
		w := keyWindow{Tenant: k.Tenant, ID: k.ID, Micros: min(max(since, 0), q.Window).Microseconds()}
		switch b.dialect {
		case PostgreSQL:
			if text := k.Tenant + k.ID; !utf8.ValidString(text) || strings.Contains(text, "\x00") {
				continue
			}
		case MySQL:
			sum := sha256.Sum256([]byte(strconv.Itoa(len(k.Tenant)) + ":" + k.Tenant + k.ID))
			w.Tenant, w.ID = "", hex.EncodeToString(sum[:])
		case SQLite:
			w.Tenant, w.ID = strings.ToUpper(hex.EncodeToString([]byte(k.Tenant))), strings.ToUpper(hex.EncodeToString([]byte(k.ID)))
		}
		windows = append(windows, w)
	}
	return windows
}
