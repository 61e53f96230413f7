// Package late counts the open calls of a throttle by their age, without a timer and without a list of
// calls.
//
// A call that is open for T is late. Later, it is written off, because it may never end. A [Ring] has a
// counter per eighth of T: the open calls that began then. A call leaves the counter when it ends. When
// an eighth is older than T, the ring closes its counter and takes all calls that are left for late.
//
// # Exactness
//
// A counter and its epoch share one word, which changes by compare-and-swap. To close a counter
// replaces the word by that of the next epoch with no calls. So a call that ends finds its own epoch,
// and leaves the counter, or another epoch, and is one of the late calls. A call that begins cannot join
// a closed counter. Late calls are rare, and a mutex guards them. So each open call is in exactly one
// place at any time. Only an epoch that comes back after 2^32 others would be confused with the first:
// after 99 days, if T is a millisecond.
//
// # When calls are found
//
// [Ring.Advance] finds late calls. The ring has no clock: no call becomes late without Advance.
package late
