// Package bucketz shows token buckets on the page of package statusz:
//
//	l, err := bucket.New(bucket.Config{Name: "geocoder", Limit: bucket.PerSecond(50), Store: store})
//	remove := page.Add(bucketz.Source(l))
//	defer remove()
//
// It stands between the two on purpose. A limiter does not need a page, and a page that shows only throttles does not need what a
// limiter brings along; who uses both has both anyway, and pays for these few lines.
package bucketz
