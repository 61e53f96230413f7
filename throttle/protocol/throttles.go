package protocol

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/internal/check"
	"github.com/spillway-go/spillway/throttle/retry"
)

// CanceledAfter is what zero means for the CanceledAfter of a Config, in clients and servers. Below a
// second, callers mostly cancel for reasons of their own: another replica answered first, or the user
// typed on.
const CanceledAfter = time.Second

const (
	// RetryAfter is the delay before a retry that a server sends with a shed by default.
	RetryAfter = time.Second
	// MaxDelay bounds the delays that servers send, and those that clients accept: a wrong value must not
	// stop a client for days.
	MaxDelay = time.Hour
)

// Throttles are the throttles of a client or a server, one per key. Make them with [NewThrottles]. A
// zero Throttles with a Group, and no Retriers, is ready too.
type Throttles struct {
	Group    *throttle.Group
	Retriers *retry.Group // nil without retries

	name   string
	logged atomic.Bool // that calls are not throttled
}

// NewThrottles returns throttles with the Config c, or an error that names every field which is out of
// range. Owner is the package and the struct of the fields Throttle, Group and Retry:
// "grpcthrottle: ClientConfig". Without a retry.Config there are no retriers. The Classify of c is asked
// about answers only: not about a panic, nor about a caller that has disconnected. See [Ignore], too.
func NewThrottles(owner string, c throttle.Config, g throttle.GroupConfig, r *retry.Config) (*Throttles, error) {
	e := check.Errors{Owner: owner}
	if err := c.Validate(); err != nil { // now, not with the first call
		e.Add(fmt.Errorf("%s.Throttle: %w", owner, err))
	}
	retriers, err := newRetriers(owner, c.Name, r)
	e.Add(err)
	c.Classify = throttle.First(ofAnswers(c.Classify), throttle.IgnoreIf(isIgnored))
	c.CanceledAfter = check.Default(c.CanceledAfter, CanceledAfter)
	group, err := throttle.NewGroup(func(string) throttle.Config {
		own := c
		if retriers != nil {
			own.Hooks = retriers.Hooks(c.Hooks)
		}
		return own
	}, g)
	if err != nil {
		e.Add(fmt.Errorf("%s.Group: %w", owner, err))
	}
	if err := e.Err(); err != nil {
		return nil, err
	}
	c.Announce()
	return &Throttles{Group: group, Retriers: retriers, name: c.Name}, nil
}

// ofAnswers returns classify for the errors of answers, or nil for nil.
func ofAnswers(classify throttle.Classifier) throttle.Classifier {
	if classify == nil {
		return nil
	}
	return func(ctx context.Context, err error) (throttle.Outcome, bool) {
		if errors.Is(err, throttle.ErrPanicked) || IsDisconnected(err) {
			return throttle.Ignored, false
		}
		return classify(ctx, err)
	}
}

func newRetriers(owner, name string, c *retry.Config) (*retry.Group, error) {
	switch {
	case c == nil:
		return nil, nil
	case c.Throttle != nil:
		return nil, fmt.Errorf("%s.Retry.Throttle is set: want nil, because each key has its own", owner)
	}
	own := *c
	if own.Name == "" {
		own.Name = name
	}
	g, err := retry.NewGroup(own)
	if err != nil {
		return nil, fmt.Errorf("%s.Retry: %w", owner, err)
	}
	return g, nil
}

// Of returns the throttle of a key, or nil if the Group is closed: a program may still make and serve
// calls while it shuts down. Do not throttle such calls. Of also returns nil if the Group cannot make
// the throttle, because a user who has made the Group gave it a wrong Config. Of logs the first error.
func (t *Throttles) Of(key string) *throttle.Throttle {
	th, err := t.Group.Get(key)
	if err == nil {
		return th
	}
	if !t.logged.Swap(true) {
		log := slog.Default()
		if t.name != "" { // empty if a user has made the Group
			log = log.With(slog.String("throttle", t.name))
		}
		log.Warn("throttle: calls pass no throttle", check.Attr("key", key), slog.Any("error", err))
	}
	return nil
}

// RetrierOf returns the Retrier of a throttle, or nil without retries.
func (t *Throttles) RetrierOf(th *throttle.Throttle) *retry.Retrier {
	if t.Retriers == nil {
		return nil
	}
	return t.Retriers.Of(th)
}
