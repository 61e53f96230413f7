// Package backoffz shows responsive backoffs on the page of package statusz:
//
//	r, err := backoff.New(backoff.Config{Name: "orders-table"})
//	remove := page.Add(backoffz.Source(r))
//	defer remove()
//
// It stands between the two on purpose. A backoff does not need a page, and a page that shows only throttles does not need what a
// backoff brings along; who uses both has both anyway, and pays for these few lines.
package backoffz
