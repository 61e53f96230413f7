// Package limits tests token buckets that processes share, by what each of them was answered: on Redis, PostgreSQL, MariaDB and a file of
// SQLite, while processes are stopped and killed, and while the server is frozen, killed, started again and flushed. It has no code but
// its tests.
package limits
