// Package limits tests token buckets that processes share on Redis, PostgreSQL, MariaDB and a SQLite
// file. It checks the answers that each process got. Meanwhile it stops and kills processes, changes
// their limits, and freezes, kills, restarts and flushes the server, or sets its clock. The package has
// only tests.
package limits
