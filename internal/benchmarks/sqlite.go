//go:build !nosqlite

package main

// With the tag nosqlite, make test vets the rest, and does not compile this large driver.
import _ "modernc.org/sqlite"
