// Package stores shows that our stores keep their word on real servers: what they hold, and what happens when these are frozen, killed,
// flushed or full. It is tests only, because it needs the servers and their drivers.
package stores
