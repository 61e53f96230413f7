package protocol

import (
	"math"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/spillway-go/spillway/throttle"
)

const (
	// calmText is the header of a server that is not overloaded. With the second one it counts for calmEvery
	// answers.
	calmText   = "TEXT " + namedMetrics + overloadedMetric + "=0"
	seldomText = calmText + "," + namedMetrics + answersMetric + "=8"
	// One in calmEvery answers of a calm server has a report, which counts for all of them.
	calmEvery = 8
	// atFirst is the number of answers that have a report when a server begins, so that a try shows it.
	atFirst = 100
	// settleTime is how long every answer has a report after an overload. Clients that shed return by them.
	settleTime = 10 * time.Second
)

// Loads formats the load reports of the throttles of a server. It keeps the last one, and those of a calm
// server, so that most answers cost no allocation. The zero Loads is ready. It is safe for concurrent use.
//
// While a server is calm, and has been for ten seconds, one in eight answers says so, and every answer
// that is a failure: clients forgive a failure of a calm server. Most answers have no report then, and cost
// next to nothing. A server that begins to shed calls says so in their answers, and then in all.
type Loads struct {
	overloaded, calm, seldom atomic.Pointer[formattedLoad]
	// settled is when answers may be without a report again, in nanoseconds since 1970: 0 for now, and
	// untilCalm while the server is overloaded.
	settled atomic.Int64
	first   atomic.Int32 // answers of a calm server, up to atFirst
}

const untilCalm = math.MaxInt64

type formattedLoad struct {
	report  throttle.LoadReport
	header  []string
	trailer string
}

// Header returns the values of the [LoadHeader] for an answer of t. Do not change them. It returns nil if t
// has nothing to say. Failed means that the answer says that the call failed.
func (l *Loads) Header(t *throttle.Throttle, failed bool) []string {
	if f := l.of(t, failed); f != nil {
		return f.header
	}
	return nil
}

// Trailer returns the value of the [LoadTrailer] for an answer of t, without its base64. It returns "" if
// t has nothing to say. Failed means that the answer says that the call failed.
func (l *Loads) Trailer(t *throttle.Throttle, failed bool) string {
	if f := l.of(t, failed); f != nil {
		return f.trailer
	}
	return ""
}

func (l *Loads) of(t *throttle.Throttle, failed bool) *formattedLoad {
	if failed || l.settled.Load() != 0 || l.isNew() {
		return l.now(t, false)
	}
	if rand.Uint32()%calmEvery != 0 {
		return nil
	}
	return l.now(t, true)
}

// now returns the report of t now, or nil for none. Seldom means that a calm server says so seldom.
func (l *Loads) now(t *throttle.Throttle, seldom bool) *formattedLoad {
	r, ok := t.LoadReport()
	if !ok {
		return nil
	}
	if r.Overloaded {
		if l.settled.Load() != untilCalm {
			l.settled.Store(untilCalm)
		}
		return format(&l.overloaded, &r)
	}
	if !seldom {
		l.settle()
		return format(&l.calm, &r)
	}
	r.Answers = calmEvery
	return format(&l.seldom, &r)
}

func (l *Loads) isNew() bool { return l.first.Load() < atFirst && l.first.Add(1) <= atFirst }

func (l *Loads) settle() {
	at := l.settled.Load()
	if at == 0 {
		return
	}
	now := time.Now()
	if at == untilCalm {
		l.settled.CompareAndSwap(at, now.Add(settleTime).UnixNano())
	} else if now.UnixNano() >= at {
		l.settled.CompareAndSwap(at, 0)
	}
}

// format returns the report in slot, which is r from now on. Calm reports of a slot are all equal.
func format(slot *atomic.Pointer[formattedLoad], r *throttle.LoadReport) *formattedLoad {
	f := slot.Load()
	if f == nil || r.Overloaded && f.report != *r {
		f = &formattedLoad{report: *r, header: []string{FormatLoad(*r)}, trailer: FormatBinaryLoad(*r)}
		slot.Store(f)
	}
	return f
}

// ReceiveLoad gives t the load report in the values of a [LoadHeader] of a response, if there is one. Call it
// before the outcome is recorded, and only if the user trusts the server.
func ReceiveLoad(t *throttle.Throttle, values []string) {
	switch {
	case len(values) == 1 && values[0] == calmText:
		t.ReceiveLoad(throttle.LoadReport{})
	case len(values) == 1 && values[0] == seldomText:
		t.ReceiveLoad(throttle.LoadReport{Answers: calmEvery})
	default:
		if r, ok := ParseLoad(values); ok {
			t.ReceiveLoad(r)
		}
	}
}

// ReceiveBinaryLoad is [ReceiveLoad] for the values of a [LoadTrailer], without their base64.
func ReceiveBinaryLoad(t *throttle.Throttle, values []string) {
	if r, ok := ParseBinaryLoad(values); ok {
		t.ReceiveLoad(r)
	}
}
