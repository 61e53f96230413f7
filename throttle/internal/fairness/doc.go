// Package fairness sheds first from the tenants that take more than their fair share.
//
// A throttle sheds the calls of a priority with a probability p. If each tenant has the same chance, one
// that sends ten times as many calls as the others gets ten times as much. Here a tenant that sends x calls
// is shed with max(0, 1 - f/x), so that none gets more than f, the fair rate. F is such that as many calls
// are shed as with p: fairness changes whose calls are shed, not how many.
//
// # The demand of a tenant
//
// A table of fixed size has the calls of about the last thirty seconds of each tenant ([demand]). If there are
// more tenants than entries, those with the fewest calls are forgotten, and count from 1 again: they are far
// below the fair rate, or all tenants are alike. Keys are hashed with a seed of the process, so that no
// caller can choose a key that shares the entry of another one.
//
// # The fair rate
//
// Each call is counted by the demand of its tenant in a histogram with logarithmic buckets. A call of a
// tenant with demand x is served with min(1, f/x), so the sum of that over the histogram is the number of
// served calls. [fairRate] solves it for f. A list of tenants is not needed for that, whatever their number.
package fairness
