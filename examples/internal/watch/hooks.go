package watch

import (
	"github.com/spillway-go/spillway/throttle/backoff"
	"github.com/spillway-go/spillway/throttle/breaker"
	"github.com/spillway-go/spillway/throttle/bucket"
	"github.com/spillway-go/spillway/throttle/statusz/sources"
)

// BackoffHooks returns the hooks that show a backoff in the metrics and on the page. A nil Server
// has none.
func (s *Server) BackoffHooks() backoff.Hooks {
	if s == nil {
		return backoff.Hooks{}
	}
	show := func(r *backoff.Responsive) { s.Page.Add(sources.Backoff(r)) }
	return backoff.JoinHooks(s.Adapter.BackoffHooks(), backoff.Hooks{Created: show})
}

// BreakerHooks returns the hooks that show a breaker in the metrics and on the page. A nil Server
// has none.
func (s *Server) BreakerHooks() breaker.Hooks {
	if s == nil {
		return breaker.Hooks{}
	}
	show := func(m *breaker.Manager) { s.Page.Add(sources.Breaker(m)) }
	return breaker.JoinHooks(s.Adapter.BreakerHooks(), breaker.Hooks{Created: show})
}

// BucketHooks returns the hooks that show a limiter in the metrics and on the page. A nil Server
// has none.
func (s *Server) BucketHooks() bucket.Hooks {
	if s == nil {
		return bucket.Hooks{}
	}
	show := func(l *bucket.Limiter) { s.Page.Add(sources.Bucket(l)) }
	return bucket.JoinHooks(s.Adapter.BucketHooks(), bucket.Hooks{Created: show})
}
