// Package limits tests token buckets that processes share on Redis, PostgreSQL, MariaDB and a SQLite
// file. It checks the answers that each process got. Meanwhile it stops and kills processes, and freezes,
// kills, restarts and flushes the server, or sets its clock. Package bucket/store tests what a change of
// the limit may grant, with a clock of its own. The package has only tests.
package limits
