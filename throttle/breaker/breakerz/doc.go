// Package breakerz shows breakers on the page of package statusz:
//
//	m, err := breaker.New(breaker.Config{Name: "webhooks", Store: store, Poll: poll})
//	remove := page.Add(breakerz.Source(m))
//	defer remove()
//
// The first thing that it shows is whether [breaker.Manager.Run] runs: "not running: nothing opens" is also what is said of a manager whose
// rounds somebody makes by hand, with [breaker.Manager.Sample].
//
// It stands between the two on purpose. A breaker does not need a page, and a page that shows only throttles does not need what a
// breaker brings along; who uses both has both anyway, and pays for these few lines.
package breakerz
