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

// queryBuilder is a query in the making.
type queryBuilder struct {
	dialect Dialect
	config  *PollerConfig
	args    []any
}

// span is how far back one key is counted, as the database gets it.
type span struct {
	Tenant string `json:"tenant"`
	ID     string `json:"id"`
	Micros int64  `json:"span"`
}

// build puts the query together. Within, each row of the window is read once, with what it says: 1 for a failure, 0 for a
// success, null for neither. The spans of single keys are one parameter, however many there are, so no limit on parameters matters and the query
// is always the same.
func (b *queryBuilder) build(q breaker.PollQuery) (string, error) {
	c := b.config
	tenant, key, reporter := "''", b.dialect.text(b.column(c.KeyColumn)), "NULL"
	if c.TenantColumn != "" {
		tenant = "COALESCE(" + b.dialect.text(b.column(c.TenantColumn)) + ", '')"
	}
	if c.ReporterColumn != "" {
		reporter = b.column(c.ReporterColumn)
	}
	fewest := q.MinFailures
	if !(fewest > 0) { // NaN
		fewest = 0
	}
	span, join, where, having := "NULL", "", "", ""
	outcome := b.outcome()
	if len(q.Since) > 0 {
		list, err := json.Marshal(b.spans(q))
		if err != nil {
			return "", err
		}
		span, join, having = "s.span", b.join(b.arg(string(list), ""), tenant, key), " OR MAX(p.span) IS NOT NULL"
		where = " AND (s.span IS NULL OR " + b.since("s.span") + ")"
	}
	return "SELECT p.tenant, p.id, SUM(p.failed), COUNT(p.failed), COUNT(DISTINCT CASE WHEN p.failed = 1 THEN p.reporter END)" +
		"\nFROM (SELECT " + tenant + " AS tenant, " + key + " AS id, " + outcome + " AS failed, " + reporter + " AS reporter, " + span + " AS span" +
		"\nFROM " + b.dialect.quote(c.Table) + " d" + join +
		"\nWHERE " + b.since(strconv.FormatInt(q.Window.Microseconds(), 10)) + where + " AND " + b.column(c.KeyColumn) + " IS NOT NULL" +
		"\n) p GROUP BY p.tenant, p.id HAVING SUM(p.failed) >= " + b.arg(fewest, "double precision") + having, nil
}

func (b *queryBuilder) column(name string) string { return "d." + b.dialect.quote(name) }

func (b *queryBuilder) since(ago string) string {
	return b.config.TimeType.since(b.dialect, b.column(b.config.TimeColumn), ago)
}

// arg adds a parameter and returns what stands for it. PostgreSQL is told its type, because it cannot always see it.
func (b *queryBuilder) arg(value any, postgresType string) string {
	b.args = append(b.args, value)
	if b.dialect != PostgreSQL {
		return "?"
	}
	place := "$" + strconv.Itoa(len(b.args))
	if postgresType == "" {
		return place
	}
	return "CAST(" + place + " AS " + postgresType + ")"
}

// outcome returns the expression that says what a row says.
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
	places := make([]string, len(values))
	for i, v := range values {
		places[i] = b.arg(v, "")
	}
	return b.column(b.config.StatusColumn) + " IN (" + strings.Join(places, ", ") + ")"
}

// text returns a column as text, byte for byte: to MySQL most text is the same in small and in capital letters, and with blanks
// behind, but to a breaker it is not.
func (d Dialect) text(column string) string {
	switch d {
	case PostgreSQL:
		return "CAST(" + column + " AS text)"
	case MySQL:
		return "CAST(CONVERT(" + column + " USING utf8mb4) AS BINARY)"
	}
	return "CAST(" + column + " AS TEXT) COLLATE BINARY"
}

// join joins the spans of single keys to the rows. The databases can be given any bytes in different ways: SQLite in hexadecimal;
// MySQL, which would compare each row with each key if these had no index, by a hash, which can have one. PostgreSQL's text
// is always valid UTF-8 without NUL, so there is no row for any other key.
func (b *queryBuilder) join(list, tenant, key string) string {
	switch b.dialect {
	case PostgreSQL:
		return "\nLEFT JOIN json_to_recordset(CAST(CAST(" + list + " AS text) AS json)) AS s(tenant text, id text, span bigint) ON s.id = " + key +
			" AND s.tenant = " + tenant
	case MySQL:
		return "\nLEFT JOIN (SELECT DISTINCT id, span FROM JSON_TABLE(" + list +
			", '$[*]' COLUMNS (id CHAR(64) CHARACTER SET ascii COLLATE ascii_bin PATH '$.id', span BIGINT PATH '$.span')) j) s" +
			" ON s.id = CONVERT(SHA2(CONCAT(LENGTH(" + tenant + "), ':', " + tenant + ", " + key + "), 256) USING ascii)"
	}
	// LIMIT has the list made into a table. SQLite believes that a list is short, and makes no index for so few, so there is a second one.
	return "\nLEFT JOIN (SELECT json_extract(l.value, '$.tenant') AS tenant, json_extract(l.value, '$.id') AS id, " +
		"json_extract(l.value, '$.span') AS span FROM json_each(" + list + ") l, json_each('[0]') LIMIT -1) s ON s.id = hex(" + key + ") AND s.tenant = hex(" + tenant + ")"
}

// spans returns the keys that there can be rows of, in the form in which they are compared.
func (b *queryBuilder) spans(q breaker.PollQuery) []span {
	spans := make([]span, 0, len(q.Since))
	for k, since := range q.Since {
		if k.Tenant != "" && b.config.TenantColumn == "" {
			continue
		}
		s := span{Tenant: k.Tenant, ID: k.ID, Micros: min(max(since, 0), q.Window).Microseconds()}
		switch b.dialect {
		case PostgreSQL:
			if text := k.Tenant + k.ID; !utf8.ValidString(text) || strings.Contains(text, "\x00") {
				continue
			}
		case MySQL:
			sum := sha256.Sum256([]byte(strconv.Itoa(len(k.Tenant)) + ":" + k.Tenant + k.ID))
			s.Tenant, s.ID = "", hex.EncodeToString(sum[:])
		case SQLite:
			s.Tenant, s.ID = strings.ToUpper(hex.EncodeToString([]byte(k.Tenant))), strings.ToUpper(hex.EncodeToString([]byte(k.ID)))
		}
		spans = append(spans, s)
	}
	return spans
}
