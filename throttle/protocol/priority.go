package protocol

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/spillway-go/spillway/throttle"
)

const unset = throttle.Priority(math.MinInt8)

// Priority returns the priority that ctx carries, and whether it carries one. Otherwise it returns
// [throttle.Medium].
func Priority(ctx context.Context) (p throttle.Priority, set bool) {
	if p = throttle.PriorityFromContext(ctx, unset); p == unset {
		return throttle.Medium, false
	}
	return p, true
}

// Word returns the word by which p travels. A value that is not a priority travels as the lowest.
func Word(p throttle.Priority) string {
	p, _ = throttle.ClampPriority(p, throttle.MaxPriorities)
	return p.String()
}

// Accept returns the priority of a call that arrived with words, the values of its field for the
// priority, and whether a trusted sender named it. It calls the Peer of trust at most once, and only
// if there is exactly one word and that is valid.
func Accept(ctx context.Context, trust throttle.Trust, words []string) (p throttle.Priority, trusted bool) {
	if len(words) == 1 && trust.Peer != nil {
		if p, err := throttle.ParsePriority(words[0]); err == nil && trust.Peer(ctx) {
			return max(p, trust.Ceiling), true
		}
	}
	return trust.Accept(ctx, ""), false // does not call Peer
}

// CheckTrust returns an error that names each priority in trust which is out of range. Owner is the
// package and the struct of the field Trust: "grpcthrottle: ServerConfig".
func CheckTrust(owner string, trust throttle.Trust) error {
	check := func(field string, p throttle.Priority) error {
		if _, err := throttle.RejectPriority(p, throttle.MaxPriorities); err != nil {
			return fmt.Errorf("%s.Trust.%s: %w", owner, field, err)
		}
		return nil
	}
	return errors.Join(check("Ceiling", trust.Ceiling), check("Default", trust.Default))
}
