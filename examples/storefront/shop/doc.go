// Package shop is the world of the storefront: visitors who make four kinds of calls, the backend that has to answer them, the
// throttle between the two, and a twin of the backend that gets the same calls without a throttle.
//
//	s, err := shop.New(shop.Config{Settings: shop.Calm()})
//	...
//	go s.Run(ctx) // the visitors come, until ctx ends
//	_, err = s.Change(func(now *shop.Settings) { now.Load = 4 })
//
// How a program uses the library stands in visit.go. All of it runs in a bubble of testing/synctest too, on the bubble's clock.
package shop
