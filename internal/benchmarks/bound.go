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
		{what: "allowed call / S", over: ourAllowed, under: floorS, limit: 1.4, stretch: 1.35},
		ratio("allowed call, P > 0 / S2", ourPositive, floorS2, 1.5),
		ratio("allowed call, P > 0, own draw / S2", ourPositiveDraw, floorS2, 1.4),
		ratio("allowed call, one in 100 rejected / S2", ourMixed, floorS2, 1.3),
		ratio("allowed call, Finished hook / S2", ourFinished, floorS2, 1.5),
		ratio("allowed call, Started and Finished hooks / S2", ourBoth, floorS2, 1.5),
		ratio("allowed call / failsafe-go throttler, direct", ourAllowed, peerFailsafe, 0.6),
		ratio("allowed call, settings overridden / those of the code", ourControlled, ourAllowed, 1.02),
		ratio("generic form / method", ourGeneric, ourAllowed, 1.05),
		ratio("Admit and Done / method", ourAdmit, ourAllowed, 1.3),
		ratio("low priority / high priority", ourLow, ourAllowed, 1.05),
		ratio("shed call / allowed call", ourShed, ourAllowed, 1.1),
		ratio("shed call, own draw / allowed call", ourShedDraw, ourAllowed, 1.1),
		ratio("tenant, allowed call / without", tenantAllowed, ourAllowed, 1.05),
		ratio("tenant, allowed call, P > 0 / without", tenantPositive, ourPositiveDraw, 1.5),
		ratio("tenant, shed call / without", tenantShed, ourShedDraw, 1.5),
		ratio("Tiered / SRE, allowed call", tieredAllowed, ourLow, 1.25),
		ratio("Tiered / SRE, allowed call, P > 0", tieredPositive, ourPositive, 1.25),
		ratio("Tiered / SRE, allowed call, one in 100 rejected", tieredMixed, ourMixed, 1.25),
		ratio("Tiered / SRE, allowed call, a bucket ends", tieredBucketEnds, ourBucketEnds, 1.25),
		ratio("Tiered / SRE, shed call", tieredShed, ourShedLow, 1.25),
		ratio("allowed call, learned Slow / set Slow", ourLearned, ourSlow, 1.05),
		ratio("rejected, DeadlineExceeded / S", ourTimeout, floorS, 3),
		ratio("rejected, faults.Unavailable / S", ourUnavailable, floorS, 3),
		ratio("not found, faults.NotFound / S", ourNotFound, floorS, 3),
		ratio("not found, plain error / S", ourPlain, floorS, 3),
	}
}

func partBounds() []bound {
	return []bound{
		ratio("HTTP Middleware, ProcessorWait / without", ourMiddleware, middlewareOff, 1.02),
		ratio("HTTP Middleware, Tell / without", middlewareTells, ourMiddleware, 1.02),
		ratio("HTTP Transport, Listen / without", ourListens, ourTransport, 1.02),
		ratio("gRPC server interceptor, ProcessorWait / without", ourServer, serverOff, 1.02),
		ratio("metrics on / (off + 1.2 Histogram.Record + clock)", ourMetrics, ourAllowed, 1, part{floorRecord, 1.2}, part{floorClock, 1}),
		ratio("metrics on, no duration, no spans / off", ourTotals, ourAllowed, 1.1),
		ratio("breaker Circuit.Do / gobreaker", breakerDo, peerGobreaker, 0),
		ratio("bucket granted / x/time rate", bucketGranted, peerRate, 0),
	}
}

func speedUps() []bound {
	return []bound{
		speedUp("allowed call", ourAllowed, 1.7),
		speedUp("allowed call, Slow", ourSlow, 1.6),
		speedUp("allowed call, P > 0, own draw", ourPositiveDraw, 1.7),
		speedUp("shed call", ourShed, 1.7),
		speedUp("tenant, allowed call, P > 0", tenantPositive, 1.7),
		speedUp("rejected, DeadlineExceeded", ourTimeout, 1.7),
		speedUp("HTTP Transport", ourTransport, 1.7, bareTransport),
		speedUp("HTTP Transport, shed", ourTransportShed, 1.7, bareTransport),
		speedUp("gRPC client interceptor", ourClient, 1.7, bareInvoker),
		speedUp("gRPC server interceptor", ourServer, 1.7, bareUnary),
		speedUp("HTTP Middleware", ourMiddleware, 1.8, bareHandler),
		speedUp("HTTP Middleware, shed", middlewareShed, 1.8, bareHandler),
		speedUp("breaker Circuit.Do", breakerDo, 1.7),
		speedUp("bucket granted", bucketGranted, 1.3),
	}
}

// extraBounds returns the bounds on the decisions of a breaker, a bucket, a backoff and a Retrier.
func extraBounds() []bound {
	extra := func(what, over, under string, ns float64) bound {
		return bound{what: what + ", ns", over: over, under: under, limit: ns, extra: true}
	}
	return []bound{
		extra("breaker lookup, 1,024 keys - bare call", breakerLookup, floorBare, 50),
		extra("breaker handle - bare call", breakerHandle, floorBare, 5),
		extra("bucket memory take - bare call", bucketGranted, floorBare, 60),
		extra("bucket memory take, denied - bare call", bucketDenied, floorBare, 60),
		extra("backoff Wait and Done - bare call", backoffFree, floorBare, 100),
		extra("retry around a throttle - allowed call", retryAround, ourAllowed, 15),
		extra("retry alone - bare call", retryAlone, floorBare, 15),
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
