// Package window counts events and forgets old ones.
//
// A [Window] is a table of counters. The caller decides what the rows are, such as the priorities
// of a throttle. The columns are kinds of events. Counters never decrease, so they are totals too.
// Most columns also count as accepted, rejected or shed. The window keeps these three sums per time
// bucket, and [Window.Read] returns them for the last span.
//
// # Cost
//
// To count is one atomic addition on a cache line that other processors rarely use. The table
// exists once per stripe, and a goroutine picks its stripe by the address of its stack. Counting
// takes no lock, and the window starts no goroutine.
//
// # Exactness
//
// Buckets end at multiples of their width after New, however rarely the window is used. An
// event therefore stays for the span, and leaves at most one bucket later. If the buckets do not
// divide the span, it stays some nanoseconds less.
//
// A bucket is closed by the first event after its end. So call [Window.Due] and [Window.Roll]
// before you count an event. Between the two, an event of another processor may be counted in the
// neighbor of its bucket, never further away.
package window
