package protocol

import (
	"sync/atomic"

	"github.com/spillway-go/spillway/throttle"
)

// calmText is the header of a server that is not overloaded.
const calmText = "TEXT " + namedMetrics + overloadedMetric + "=0"

// Loads formats the load reports of the throttles of a server. It keeps the last one, and that of a calm
// server, so that most answers cost no allocation. The zero Loads is ready. It is safe for concurrent use.
type Loads struct {
	calm, overloaded atomic.Pointer[formattedLoad]
}

// formattedLoad is a report in both forms. It never changes.
type formattedLoad struct {
	report  throttle.LoadReport
	header  []string
	trailer string
}

// Header returns the values of the [LoadHeader] for an answer of t. Do not change them. It returns nil if t
// has nothing to say.
func (l *Loads) Header(t *throttle.Throttle) []string { return l.of(t).header }

// Trailer returns the value of the [LoadTrailer] for an answer of t, without its base64. It returns "" if
// t has nothing to say.
func (l *Loads) Trailer(t *throttle.Throttle) string { return l.of(t).trailer }

// of returns the report of t.
func (l *Loads) of(t *throttle.Throttle) *formattedLoad {
	r, ok := t.LoadReport()
	if !ok {
		return &formattedLoad{}
	}
	slot := &l.calm
	if r.Overloaded {
		slot = &l.overloaded
	}
	f := slot.Load()
	if f == nil || r.Overloaded && f.report != r {
		f = &formattedLoad{report: r, header: []string{FormatLoad(r)}, trailer: FormatBinaryLoad(r)}
		slot.Store(f)
	}
	return f
}

// ReceiveLoad gives t the load report in the values of a [LoadHeader] of a response, if there is one. Call it
// before the outcome is recorded, and only if the user trusts the server.
func ReceiveLoad(t *throttle.Throttle, values []string) {
	if len(values) == 1 && values[0] == calmText {
		t.ReceiveLoad(throttle.LoadReport{})
	} else if r, ok := ParseLoad(values); ok {
		t.ReceiveLoad(r)
	}
}

// ReceiveBinaryLoad is [ReceiveLoad] for the values of a [LoadTrailer], without their base64.
func ReceiveBinaryLoad(t *throttle.Throttle, values []string) {
	if r, ok := ParseBinaryLoad(values); ok {
		t.ReceiveLoad(r)
	}
}
