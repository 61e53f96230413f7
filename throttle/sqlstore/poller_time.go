package sqlstore

import (
	"github.com/spillway-go/spillway/throttle/internal/check"
	"github.com/spillway-go/spillway/throttle/internal/enum"
)

// TimeType is the type of a column with times. Polls depend neither on the session's time zone nor
// on changes to daylight saving time.
type TimeType uint8

const (
	// TimeInstant is a timestamp with a time zone: PostgreSQL's timestamptz, MySQL's TIMESTAMP.
	TimeInstant TimeType = iota + 1
	// TimeUTC is a timestamp without a time zone, in UTC: PostgreSQL's timestamp, MySQL's DATETIME. In
	// SQLite it is text such as 2026-01-31 23:59:59 or 2026-01-31T23:59:59.999Z.
	TimeUTC
	// TimeUnixSeconds is a number of seconds since 1970.
	TimeUnixSeconds
	// TimeUnixMillis is a number of milliseconds since 1970.
	TimeUnixMillis
	// TimeUnixMicros is a number of microseconds since 1970.
	TimeUnixMicros
)

// String returns the type's name: "Instant", "UTC", "UnixSeconds", "UnixMillis" or "UnixMicros".
func (t TimeType) String() string {
	return enum.Name("time_type", t, "time_type(0) Instant UTC UnixSeconds UnixMillis UnixMicros")
}

// MarshalText returns the type's name. It returns an error for an unknown type.
func (t TimeType) MarshalText() ([]byte, error) { return enum.Marshal(t, TimeInstant, TimeUnixMicros) }

// UnmarshalText parses a type's name, exactly as String writes it. For any other text it returns an
// error that lists the names, and changes nothing.
func (t *TimeType) UnmarshalText(text []byte) error {
	return enum.Unmarshal(t, text, TimeInstant, TimeUnixMicros)
}

func (t TimeType) validate(e *check.Errors, d Dialect) {
	want := "Instant, UTC, UnixSeconds, UnixMillis or UnixMicros"
	if d == SQLite {
		want = "UTC, UnixSeconds, UnixMillis or UnixMicros, because SQLite has no column with time zones"
	}
	if t == 0 {
		e.Missing("TimeType", want)
		return
	}
	e.Want(t <= TimeUnixMicros && (d != SQLite || t != TimeInstant), "TimeType", t, want)
}

// since returns a condition: the column is later than ago microseconds before now. The condition
// can use an index on the column. For that its other side must be constant during the statement,
// and PostgreSQL's clock_timestamp is not.
func (t TimeType) since(d Dialect, column, ago string) string {
	switch t {
	case TimeInstant:
		return t.sinceInstant(d, column, ago)
	case TimeUTC:
		return t.sinceUTC(d, column, ago)
	}
	unit := [...]string{TimeUnixSeconds: "1000000", TimeUnixMillis: "1000", TimeUnixMicros: "1"}[t] // in microseconds
	switch d {
	case PostgreSQL:
		return column + " > (CAST(EXTRACT(EPOCH FROM statement_timestamp()) * 1000000 AS bigint) - " + ago + ") / " + unit
	case MySQL:
		return column + " > (" + d.now() + " - " + ago + ") DIV " + unit
	}
	return column + " > (" + d.now() + " - " + ago + ") / " + unit
}

func (TimeType) sinceInstant(d Dialect, column, ago string) string {
	if d == PostgreSQL {
		return column + " > statement_timestamp() - " + ago + " * interval '1 microsecond'"
	}
	// MySQL compares in the session's time zone, in which an hour may repeat. So the first
	// condition, for the index, reaches three hours further back, and the second compares exact
	// times.
	return column + " > FROM_UNIXTIME(UNIX_TIMESTAMP() - 10800 - " + ago + " DIV 1000000) AND " +
		"CAST(UNIX_TIMESTAMP(" + column + ") * 1000000 AS SIGNED) > " + d.now() + " - " + ago
}

func (TimeType) sinceUTC(d Dialect, column, ago string) string {
	switch d {
	case PostgreSQL:
		return column + " > (statement_timestamp() AT TIME ZONE 'UTC') - " + ago + " * interval '1 microsecond'"
	case MySQL:
		return column + " > UTC_TIMESTAMP(6) - INTERVAL " + ago + " MICROSECOND"
	}
	// A blank sorts before a T, so the first condition, for the index, may match too many rows but
	// never too few. The second is exact. If julianday cannot parse the text, for example a
	// time.Time that a driver has written, it parses the first 19 characters.
	days := "julianday('now') - " + ago + " / 86400000000.0"
	return column + " >= strftime('%Y-%m-%d %H:%M:%S', " + days + ") AND COALESCE(julianday(" + column +
		"), julianday(substr(" + column + ", 1, 19))) > " + days
}
