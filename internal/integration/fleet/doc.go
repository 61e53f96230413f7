// Package fleet tests a breaker whose agents are processes that share a Redis, while that is frozen, killed and flushed, and while
// agents are. It has no code but its tests.
package fleet
