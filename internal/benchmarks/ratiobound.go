package main

import (
	"fmt"
	"slices"
)

// ratioBound is a bound of the design on a ratio.
type ratioBound struct {
	what    string
	over    string  // the subject
	under   string  // the divisor; empty for the speed-up from one processor to two
	bound   float64 // the largest ratio or the smallest speed-up; 0 to print without a verdict
	stretch float64 // a stricter goal; 0 for none
	plus    []part  // added to the divisor; for a speed-up, multiples of others that are enough too
}

// part is a multiple of a subject's cost or speed-up.
type part struct {
	name  string
	times float64
}

// ratioBounds returns the bounds on the cost of a call.
func ratioBounds() []ratioBound { return slices.Concat(callBounds(), partBounds(), speedUps()) }

// callBounds returns the bounds on a call of a throttle.
func callBounds() []ratioBound {
	return []ratioBound{
		{"allowed call / S", ourAllowed, floorS, 1.4, 1.35, nil},
		{"allowed call, P > 0 / S2", ourPositive, floorS2, 1.5, 0, nil},
		{"allowed call, P > 0, own draw / S2", ourPositiveDraw, floorS2, 1.4, 0, nil},
		{"allowed call, one in 100 rejected / S2", ourMixed, floorS2, 1.3, 0, nil},
		{"allowed call, Finished hook / S2", ourFinished, floorS2, 1.5, 0, nil},
		{"allowed call, Started and Finished hooks / S2", ourBoth, floorS2, 1.5, 0, nil},
		{"allowed call / failsafe-go throttler, direct", ourAllowed, peerFailsafe, 0.6, 0, nil},
		{"allowed call, settings overridden / those of the code", ourControlled, ourAllowed, 1.02, 0, nil},
		{"generic form / method", ourGeneric, ourAllowed, 1.05, 0, nil},
		{"Admit and Done / method", ourAdmit, ourAllowed, 1.3, 0, nil},
		{"low priority / high priority", ourLow, ourAllowed, 1.05, 0, nil},
		{"shed call / allowed call", ourShed, ourAllowed, 1.1, 0, nil},
		{"shed call, own draw / allowed call", ourShedDraw, ourAllowed, 1.1, 0, nil},
		{"tenant, allowed call / without", tenantAllowed, ourAllowed, 1.05, 0, nil},
		{"tenant, allowed call, P > 0 / without", tenantPositive, ourPositiveDraw, 1.5, 0, nil},
		{"tenant, shed call / without", tenantShed, ourShedDraw, 1.5, 0, nil},
		{"Tiered / SRE, allowed call", tieredAllowed, ourLow, 1.25, 0, nil},
		{"Tiered / SRE, allowed call, P > 0", tieredPositive, ourPositive, 1.25, 0, nil},
		{"Tiered / SRE, allowed call, one in 100 rejected", tieredMixed, ourMixed, 1.25, 0, nil},
		{"Tiered / SRE, allowed call, a bucket ends", tieredBucketEnds, ourBucketEnds, 1.25, 0, nil},
		{"Tiered / SRE, shed call", tieredShed, ourShedLow, 1.25, 0, nil},
		{"rejected, DeadlineExceeded / S", ourTimeout, floorS, 3, 0, nil},
		{"rejected, faults.Unavailable / S", ourUnavailable, floorS, 3, 0, nil},
		{"not found, faults.NotFound / S", ourNotFound, floorS, 3, 0, nil},
		{"not found, plain error / S", ourPlain, floorS, 3, 0, nil},
	}
}

// partBounds returns the bounds on what is around a throttle.
func partBounds() []ratioBound {
	return []ratioBound{
		{"HTTP Middleware, ProcessorWait / without", ourMiddleware, middlewareOff, 1.02, 0, nil},
		{"HTTP Middleware, Tell / without", middlewareTells, ourMiddleware, 1.02, 0, nil},
		{"HTTP Transport, Listen / without", ourListens, ourTransport, 1.02, 0, nil},
		{"gRPC server interceptor, ProcessorWait / without", ourServer, serverOff, 1.02, 0, nil},
		{"metrics on / (off + 1.2 Histogram.Record + clock)", ourMetrics, ourAllowed, 1, 0, []part{{floorRecord, 1.2}, {floorClock, 1}}},
		{"metrics on, no duration, no spans / off", ourTotals, ourAllowed, 1.1, 0, nil},
		{"breaker Circuit.Do / gobreaker", breakerDo, peerGobreaker, 0, 0, nil},
		{"bucket granted / x/time rate", bucketGranted, peerRate, 0, 0, nil},
	}
}

// speedUps returns the bounds on two processors in place of one.
func speedUps() []ratioBound {
	return []ratioBound{
		{"allowed call, two processors / one", ourAllowed, "", 1.7, 0, nil},
		{"allowed call, Slow, two processors / one", ourSlow, "", 1.6, 0, nil},
		{"allowed call, P > 0, own draw, two processors / one", ourPositiveDraw, "", 1.7, 0, nil},
		{"shed call, two processors / one", ourShed, "", 1.7, 0, nil},
		{"tenant, allowed call, P > 0, two processors / one", tenantPositive, "", 1.7, 0, nil},
		{"rejected, DeadlineExceeded, two processors / one", ourTimeout, "", 1.7, 0, nil},
		{"HTTP Transport, two processors / one", ourTransport, "", 1.7, 0, []part{{bareTransport, 0.9}}},
		{"HTTP Transport, shed, two processors / one", ourTransportShed, "", 1.7, 0, []part{{bareTransport, 0.9}}},
		{"gRPC client interceptor, two processors / one", ourClient, "", 1.7, 0, []part{{bareInvoker, 0.9}}},
		{"gRPC server interceptor, two processors / one", ourServer, "", 1.7, 0, []part{{bareUnary, 0.9}}},
		{"HTTP Middleware, two processors / one", ourMiddleware, "", 1.8, 0, []part{{bareHandler, 0.9}}},
		{"HTTP Middleware, shed, two processors / one", middlewareShed, "", 1.8, 0, []part{{bareHandler, 0.9}}},
		{"breaker Circuit.Do, two processors / one", breakerDo, "", 1.7, 0, nil},
		{"bucket granted, two processors / one", bucketGranted, "", 1.3, 0, nil},
	}
}

// verdicts returns the table of bounds. It leaves out bounds on subjects that were not chosen.
func (f *findings) verdicts() table {
	t := table{heading: "bounds (" + machine() + ")", rows: [][]string{{"what", "at p10", "measured", "bound", "verdict"}}}
	for _, c := range ratioBounds() {
		if f.named[c.over] != nil && (c.under == "" || f.named[c.under] != nil) {
			t.rows = append(t.rows, f.verdict(c))
		}
	}
	for _, a := range extraBounds() {
		if f.named[a.subject] != nil && f.named[a.beside] != nil {
			t.rows = append(t.rows, f.extraVerdict(a))
		}
	}
	return t
}

// verdict returns the row of a bound. The verdict is about the medians.
func (f *findings) verdict(c ratioBound) []string {
	atP10, measured := f.ratioAt(0.1, c.over, c.under, c.plus...), f.ratio(c.over, c.under, c.plus...)
	if c.under == "" {
		atP10, measured = f.speedUpAt(0.1, c.over), f.speedUp(c.over)
		for _, p := range c.plus {
			if s := f.speedUp(p.name); s > 0 {
				c.bound = min(c.bound, p.times*s)
			}
		}
	}
	return []string{c.what, figure("%.2f", atP10), figure("%.2f", measured), c.limit(), c.judge(measured)}
}

// limit formats the bound.
func (c ratioBound) limit() string {
	switch {
	case c.bound == 0:
		return "-"
	case c.under == "":
		return fmt.Sprintf(">= %.2f", c.bound)
	case c.stretch > 0:
		return fmt.Sprintf("<= %.2f, stretch %.2f", c.bound, c.stretch)
	}
	return fmt.Sprintf("<= %.2f", c.bound)
}

// judge returns the verdict on a measured figure.
func (c ratioBound) judge(measured float64) string {
	switch {
	case measured == 0:
		return "not measured"
	case c.bound == 0:
		return "to compare"
	case c.under == "" && measured < c.bound, c.under != "" && measured > c.bound:
		return "MISSED"
	case c.stretch > 0 && measured <= c.stretch:
		return "met, stretch too"
	}
	return "met"
}
