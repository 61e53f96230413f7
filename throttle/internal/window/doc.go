// Package window counts events and forgets them: it holds the only ring buffer of the house.
//
// A [Window] is a table of counters. Its rows are whatever the caller tells apart (the priorities of a throttle, say),
// its columns the things that can happen. Counters only ever grow, so they are lifetime totals too. Most columns also count as
// accepted, rejected or shed, and those sums are remembered bucket by bucket: [Window.Read] gives them for the last span.
//
// # Cost
//
// Counting is one atomic addition on a cache line that other processors rarely touch: the table exists once per stripe,
// and a goroutine picks its stripe by the address of its stack. No lock is taken to count, and no goroutine runs.
//
// # Exactness
//
// Buckets lie on a fixed grid: the n-th ends at n times the bucket's width after the window was made, however rarely anyone looks. An
// event therefore stays for the span (less some nanoseconds where the buckets do not divide it) and leaves at most one bucket later. Whoever counts must say what time it is first, by
// [Window.Due] and [Window.Roll], because a bucket is closed by the first event after its end. Between the two,
// another processor's event may slip over the border of one bucket, never further.
package window
