package throttle

import "context"

// Trust decides which priority an incoming call gets. The sender names a priority in a header, in
// metadata or in baggage; Trust accepts or replaces it. The zero Trust trusts no sender: every call
// gets Medium.
//
// Accept never gives High to a call without a trusted word. If your code decides that such a call
// matters most, set its priority there: with [WithPriority] after Accept, or with the Priority
// function of httpthrottle.MiddlewareConfig, or of the ServerConfig of grpcthrottle or
// connectthrottle.
type Trust struct {
	// Peer reports whether the sender of the call may name its priority. Decide by a property that
	// the sender cannot forge: a client certificate or a private listener, not another header.
	// Default nil: no sender is trusted.
	Peer func(context.Context) bool
	// Ceiling is the highest priority that a trusted sender can get. A sender may name a lower one.
	// Default High: no limit.
	Ceiling Priority
	// Default is the priority of every other call: its sender is not trusted, or it names no valid
	// priority. Zero means Medium; High is zero, so it means Medium too. If Default is higher
	// than the Ceiling, the call gets the Ceiling. A value out of range, such as -1, means "p15",
	// which a throttle with fewer priorities treats as its lowest.
	Default Priority
}

// Accept returns the priority of a call that arrived with word. If word is a valid priority and the
// sender is trusted, that is the priority it names, at most the Ceiling. Otherwise it is the
// Default, at most the Ceiling. A valid word is exactly one of [Priority.String]. An empty or a
// repeated word is not valid. Accept calls Peer at most once, and only for a valid word.
func (t Trust) Accept(ctx context.Context, word string) Priority {
	if t.Peer == nil || word == "" {
		return max(t.defaultPriority(), t.Ceiling)
	}
	p, ok := priorityOf(word)
	if !ok || !t.Peer(ctx) {
		p = t.defaultPriority()
	}
	return max(p, t.Ceiling)
}

// defaultPriority returns the Default of Trust, or the priority that a zero or invalid one means.
func (t Trust) defaultPriority() Priority {
	if t.Default == High {
		return Medium
	}
	p, _ := ClampPriority(t.Default, MaxPriorities)
	return p
}
