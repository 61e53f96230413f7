// Package fleet tests a breaker whose agents are processes that share a Redis. Meanwhile it freezes,
// kills and flushes the Redis, and freezes and kills agents. The package has only tests.
package fleet
