package main

import (
	"fmt"
	"slices"
)

// bound is a bound of the design: on a ratio, on a speed-up, or on the extra cost of a subject.
type bound struct {
	what    string
	over    string  // the subject
	under   string  // what it is compared with; empty for the speed-up from one processor to two
	limit   float64 // the largest ratio or extra cost, or the smallest speed-up; 0 to print without a verdict
	stretch float64 // a stricter goal; 0 for none
	plus    []part  // added to the divisor; for a speed-up, multiples of others that are enough too
	extra   bool    // in nanoseconds, not a ratio: for subjects so cheap that a ratio is meaningless
}

// part is a multiple of a subject's cost or speed-up.
type part struct {
	name  string
	times float64
}

func bounds() []bound { return slices.Concat(callBounds(), partBounds(), speedUps(), extraBounds()) }

// ratio returns a bound on the cost of a subject, divided by that of another one and other parts.
func ratio(what, over, under string, limit float64, plus ...part) bound {
	return bound{what: what, over: over, under: under, limit: limit, plus: plus}
}

// speedUp returns a bound on two processors in place of one. Nine tenths of that of another subject are enough too.
func speedUp(what, over string, limit float64, bare ...string) bound {
	b := bound{what: what + ", two processors / one", over: over, limit: limit}
	for _, name := range bare {
		b.plus = append(b.plus, part{name, 0.9})
	}
	return b
}

func callBounds() []bound {
	return []bound{
		{what: "allowed call / S", over: "allowed", under: floorS, limit: 1.4, stretch: 1.35},
		ratio("allowed call, P > 0 / S2", "allowed, P > 0", floorS2, 1.5),
		ratio("allowed call, P > 0, own draw / S2", "allowed, P > 0, own draw", floorS2, 1.4),
		ratio("allowed call, one in 100 rejected / S2", "allowed, one in 100 rejected", floorS2, 1.3),
		ratio("allowed call, Finished hook / S2", "allowed, Finished hook", floorS2, 1.5),
		ratio("allowed call, Started and Finished hooks / S2", "allowed, Started and Finished hooks", floorS2, 1.5),
		ratio("allowed call / failsafe-go throttler, direct", "allowed", "failsafe-go throttler, direct", 0.6),
		ratio("allowed call, settings overridden / those of the code", "allowed, settings overridden", "allowed", 1.02),
		ratio("generic form / method", "allowed, generic form", "allowed", 1.05),
		ratio("Admit and Done / method", "allowed, Admit and Done", "allowed", 1.3),
		ratio("low priority / high priority", "allowed, low priority", "allowed", 1.05),
		ratio("shed call / allowed call", "shed", "allowed", 1.1),
		ratio("shed call, own draw / allowed call", "shed, own draw", "allowed", 1.1),
		ratio("tenant, allowed call / without", "allowed, tenant", "allowed", 1.05),
		ratio("tenant, allowed call, P > 0 / without", "allowed, P > 0, tenant", "allowed, P > 0, own draw", 1.5),
		ratio("tenant, shed call / without", "shed, tenant", "shed, own draw", 1.5),
		ratio("Tiered / SRE, allowed call", "Tiered, allowed, low priority", "allowed, low priority", 1.25),
		ratio("Tiered / SRE, allowed call, P > 0", "Tiered, allowed, low priority, P > 0", "allowed, P > 0", 1.25),
		ratio("Tiered / SRE, allowed call, one in 100 rejected", "Tiered, allowed, one in 100 rejected", "allowed, one in 100 rejected", 1.25),
		ratio("Tiered / SRE, allowed call, a bucket ends", "Tiered, allowed, a bucket ends", "allowed, a bucket ends", 1.25),
		ratio("Tiered / SRE, shed call", "Tiered, shed, low priority", "shed, low priority", 1.25),
		ratio("allowed call, learned Slow / set Slow", "allowed, learned Slow", "allowed, Slow", 1.05),
		ratio("rejected, DeadlineExceeded / S", "rejected, DeadlineExceeded", floorS, 3),
		ratio("rejected, faults.Unavailable / S", "rejected, faults.Unavailable", floorS, 3),
		ratio("not found, faults.NotFound / S", "not found, faults.NotFound", floorS, 3),
		ratio("not found, plain error / S", "not found, plain error", floorS, 3),
	}
}

func partBounds() []bound {
	return []bound{
		ratio("HTTP Middleware, ProcessorWait / without", "HTTP server, Middleware", "HTTP server, Middleware, no ProcessorWait", 1.02),
		ratio("HTTP Middleware, Tell / without", "HTTP server, Middleware, Tell", "HTTP server, Middleware", 1.02),
		ratio("HTTP Transport, Listen / without", "HTTP client, Transport, Listen", "HTTP client, Transport", 1.02),
		ratio("gRPC server interceptor, ProcessorWait / without", "gRPC server, unary interceptor", "gRPC server, unary interceptor, no ProcessorWait", 1.02),
		ratio("metrics on / (off + 1.2 Histogram.Record + clock)", "allowed, metrics on", "allowed", 1, part{"Histogram.Record, attributes made before", 1.2}, part{floorClock, 1}),
		ratio("metrics on, no duration, no spans / off", "allowed, metrics on, no duration, no spans", "allowed", 1.1),
		ratio("breaker Circuit.Do / gobreaker", "Circuit.Do", "gobreaker", 0),
		ratio("bucket granted / x/time rate", "bucket, granted", "x/time rate", 0),
	}
}

func speedUps() []bound {
	return []bound{
		speedUp("allowed call", "allowed", 1.7),
		speedUp("allowed call, Slow", "allowed, Slow", 1.6),
		speedUp("allowed call, P > 0, own draw", "allowed, P > 0, own draw", 1.7),
		speedUp("shed call", "shed", 1.7),
		speedUp("tenant, allowed call, P > 0", "allowed, P > 0, tenant", 1.7),
		speedUp("rejected, DeadlineExceeded", "rejected, DeadlineExceeded", 1.7),
		speedUp("HTTP Transport", "HTTP client, Transport", 1.7, "HTTP client, bare base in memory"),
		speedUp("HTTP Transport, shed", "HTTP client, Transport, shed", 1.7, "HTTP client, bare base in memory"),
		speedUp("gRPC client interceptor", "gRPC client, unary interceptor", 1.7, "gRPC client, bare invoker"),
		speedUp("gRPC server interceptor", "gRPC server, unary interceptor", 1.7, "gRPC server, bare handler"),
		speedUp("HTTP Middleware", "HTTP server, Middleware", 1.8, "HTTP server, bare handler"),
		speedUp("HTTP Middleware, shed", "HTTP server, Middleware, shed", 1.8, "HTTP server, bare handler"),
		speedUp("breaker Circuit.Do", "Circuit.Do", 1.7),
		speedUp("bucket granted", "bucket, granted", 1.3),
	}
}

// extraBounds returns the bounds on the decisions of a breaker, a bucket, a backoff and a Retrier.
func extraBounds() []bound {
	extra := func(what, over, under string, ns float64) bound {
		return bound{what: what + ", ns", over: over, under: under, limit: ns, extra: true}
	}
	return []bound{
		extra("breaker lookup, 1,024 keys - bare call", "lookup, 1,024 keys, 100 open", floorBare, 50),
		extra("breaker handle - bare call", "handle", floorBare, 5),
		extra("bucket memory take - bare call", "bucket, granted", floorBare, 60),
		extra("bucket memory take, denied - bare call", "bucket, denied", floorBare, 60),
		extra("backoff Wait and Done - bare call", "backoff, Wait and Done", floorBare, 100),
		extra("retry around a throttle - allowed call", "retry around a throttle", "allowed", 15),
		extra("retry alone - bare call", "retry alone", floorBare, 15),
	}
}

// verdicts returns the table of bounds. It leaves out bounds on subjects that were not chosen.
func (f *findings) verdicts() table {
	t := table{heading: "bounds (" + machine() + ")", rows: [][]string{{"what", "at p10", "measured", "bound", "verdict"}}}
	for _, b := range bounds() {
		if f.named[b.over] != nil && (b.under == "" || f.named[b.under] != nil) {
			t.rows = append(t.rows, f.verdict(b))
		}
	}
	return t
}

// verdict returns the row of a bound. The verdict is about the medians.
func (f *findings) verdict(b bound) []string {
	if b.under == "" {
		for _, p := range b.plus {
			if s := f.speedUp(0.5, p.name); s > 0 {
				b.limit = min(b.limit, p.times*s)
			}
		}
	}
	format := "%.2f"
	if b.extra {
		format = "%.1f"
	}
	measured := f.measured(0.5, b)
	return []string{b.what, figure(format, f.measured(0.1, b)), figure(format, measured), b.wanted(), b.judge(measured)}
}

// measured returns what a bound is about, at the q-th quantile.
func (f *findings) measured(q float64, b bound) float64 {
	switch {
	case b.under == "":
		return f.speedUp(q, b.over)
	case b.extra:
		return f.extra(q, b.over, b.under)
	}
	return f.ratio(q, b.over, b.under, b.plus...)
}

func (b bound) wanted() string {
	switch {
	case b.limit == 0:
		return "-"
	case b.under == "":
		return fmt.Sprintf(">= %.2f", b.limit)
	case b.extra:
		return fmt.Sprintf("<= %.0f", b.limit)
	case b.stretch > 0:
		return fmt.Sprintf("<= %.2f, stretch %.2f", b.limit, b.stretch)
	}
	return fmt.Sprintf("<= %.2f", b.limit)
}

// judge returns the verdict on a measured figure.
func (b bound) judge(measured float64) string {
	switch {
	case measured == 0:
		return "not measured"
	case b.limit == 0:
		return "to compare"
	case b.under == "" && measured < b.limit, b.under != "" && measured > b.limit:
		return "MISSED"
	case b.stretch > 0 && measured <= b.stretch:
		return "met, stretch too"
	}
	return "met"
}
