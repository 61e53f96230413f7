package sqlstore

import (
	"fmt"

	"github.com/spillway-go/spillway/throttle/internal/enum"
)

// TimeType says how a column holds times. None of them depends on the session's time zone, and none falters when clocks change.
type TimeType uint8

const (
	// Instant is a column that knows its time zone: PostgreSQL's timestamptz, MySQL's TIMESTAMP.
	Instant TimeType = iota + 1
	// UTC is a column of date and time without a zone that holds UTC: PostgreSQL's timestamp, MySQL's DATETIME, and in SQLite text such as
	// 2026-01-31 23:59:59 or 2026-01-31T23:59:59.999Z.
	UTC
	// UnixSeconds is a column of whole seconds since 1970.
	UnixSeconds
	// UnixMillis is a column of milliseconds since 1970.
	UnixMillis
	// UnixMicros is a column of microseconds since 1970.
	UnixMicros
)

// String returns the type's name: "Instant", "UTC", "UnixSeconds", "UnixMillis" or "UnixMicros".
func (t TimeType) String() string {
	switch t {
	case Instant:
		return "Instant"
	case UTC:
		return "UTC"
	case UnixSeconds:
		return "UnixSeconds"
	case UnixMillis:
		return "UnixMillis"
	case UnixMicros:
		return "UnixMicros"
	}
	return enum.Unknown("time_type", t)
}

// MarshalText returns the type's word, and an error if it has none.
func (t TimeType) MarshalText() ([]byte, error) { return enum.Marshal(t, Instant, UnixMicros) }

// UnmarshalText takes the type's word, to the letter. Any other text is an error that names the words, and changes nothing.
func (t *TimeType) UnmarshalText(text []byte) error {
	return enum.Unmarshal(t, text, Instant, UnixMicros)
}

func (t TimeType) validate(d Dialect) error {
	want := "Instant, UTC, UnixSeconds, UnixMillis or UnixMicros"
	if d == SQLite {
		want = "UTC, UnixSeconds, UnixMillis or UnixMicros, since SQLite has no column with time zones"
	}
	if t < Instant || t > UnixMicros || d == SQLite && t == Instant {
		return fmt.Errorf("sqlstore: PollerConfig.TimeType is %v: want %s", t, want)
	}
	return nil
}

// since returns a condition: that the column is later than so many microseconds ago. An index on the column serves it, for which its other side must be the
// same for the whole statement, as PostgreSQL's clock_timestamp is not.
func (t TimeType) since(d Dialect, column, ago string) string {
	var unit string
	switch t {
	case Instant:
		return t.sinceInstant(d, column, ago)
	case UTC:
		return t.sinceUTC(d, column, ago)
	case UnixSeconds:
		unit = "1000000"
	case UnixMillis:
		unit = "1000"
	default:
		unit = "1"
	}
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
	// MySQL compares in the session's time zone, in which an hour may come twice; so the index is asked for some hours more, and what it
	// finds is compared as what it is.
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
	// A blank sorts before a T, so the index finds too much rather than too little. What julianday cannot read, such as what a driver
	// makes of a time.Time, begins with what it can.
	days := "julianday('now') - " + ago + " / 86400000000.0"
	return column + " >= strftime('%Y-%m-%d %H:%M:%S', " + days + ") AND COALESCE(julianday(" + column +
		"), julianday(substr(" + column + ", 1, 19))) > " + days
}
