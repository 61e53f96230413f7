package throttle

import "context"

// Trust decides about priorities that arrive from elsewhere, in a header, in metadata or in baggage. A stranger who could
// name his own priority would name the highest, so the zero Trust trusts nobody. But it gives everybody High, the zero Priority:
// set Default.
type Trust struct {
	// Peer reports whether the sender behind ctx may say how much its calls matter. Judge by what the sender
	// cannot make up: a client certificate, a private listener; never by another header. Nil trusts nobody.
	Peer func(context.Context) bool
	// Ceiling is the highest priority that a trusted sender can ask for. It may ask for less.
	Ceiling Priority
	// Default is the priority of everyone else: untrusted, silent or unintelligible. Nobody of them gets more than the Ceiling, so one that
	// is higher means the Ceiling. Set it: its zero value is High, and so is the Ceiling's. One that is no priority, such as -1, means the
	// least important there is, "p15": a mistake promotes nobody.
	Default Priority
}

// Accept returns the priority for a call that arrived with word. A trusted sender's word counts up to the Ceiling; any other
// sender, and any word that is not exactly one of [Priority.String], an empty or a repeated one included, gets the Default, up to the
// Ceiling too.
func (t Trust) Accept(ctx context.Context, word string) Priority {
	p, ok := priorityOf(word)
	if !ok || t.Peer == nil || !t.Peer(ctx) {
		p, _ = ClampPriority(t.Default, MaxPriorities)
	}
	return max(p, t.Ceiling)
}
