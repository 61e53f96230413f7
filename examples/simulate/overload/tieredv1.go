package overload

import (
	"time"

	"github.com/spillway-go/spillway/throttle"
)

// The constants and the default settings of policy Tiered as it was in November 2026.
const (
	v1Span                       = 10 * time.Second
	v1Buckets, v1RecentPart      = 120, 5
	v1Width, v1Recent            = v1Span / v1Buckets, v1Buckets / v1RecentPart
	v1Ratio, v1Target, v1Padding = 2, 0.1, 10 // the padding of a window, for a MinimumRate of 1
	v1LeastProbe, v1Largest      = 1.0 / 64, 1 - 1.0/(1<<53)
	v1EventsPerRefresh           = 16
)

// tieredV1 is policy Tiered as it was in November 2026, before it knew that a rejection may say that the
// backend is full. It is kept to compare with, has the default settings, and gives the same figures as that
// policy did, up to 2000 calls per second and client.
type tieredV1 struct {
	now     func() time.Time
	rand    func() float64
	began   time.Time
	window  windowV1
	monitor monitorV1
	sheds   Tiers // probabilities
	events  int   // since the decisions were refreshed: rejected or maybe shed calls
}

func newTieredV1(e Env) (Client, error) {
	c := &tieredV1{now: e.Now, rand: e.Rand, began: e.Now()}
	c.monitor.setRatios()
	return c, nil
}

func (c *tieredV1) Admit(p throttle.Priority) (Token, bool) {
	t := Token{Promise: p}
	if sumV1(&c.window.span).refused() == 0 {
		return t, true
	}
	c.roll()
	if c.sheds[p] == 0 {
		return t, true
	}
	c.countEvent()
	if c.rand() >= c.sheds[p] {
		return t, true
	}
	c.window.add(p, countsV1{shed: 1})
	return t, false
}

func (c *tieredV1) End(t Token, o throttle.Outcome) {
	c.roll()
	p := t.Promise.(throttle.Priority)
	if o == throttle.Accepted {
		c.window.add(p, countsV1{accepted: 1})
		return
	}
	c.window.add(p, countsV1{rejected: 1})
	c.countEvent()
}

// roll refreshes the decisions if a bucket has ended.
func (c *tieredV1) roll() {
	if c.window.roll(int(c.now().Sub(c.began) / v1Width)) {
		c.refresh()
	}
}

func (c *tieredV1) countEvent() {
	if c.events++; c.events >= v1EventsPerRefresh {
		c.refresh()
	}
}

func (c *tieredV1) refresh() {
	c.events = 0
	c.monitor.update(&c.window)
	span := &c.window.span
	c.sheds = Tiers{}
	if sumV1(span).refused() == 0 {
		return
	}
	top := 0
	for span[top] == (countsV1{}) {
		top++
	}
	c.sheds[top] = min(max(0, (span[top].requests()-v1Ratio*span[top].accepted)/(span[top].requests()+v1Padding)), v1Largest)
	if c.monitor.open {
		return
	}
	o := newPoolV1(&c.window, &c.monitor)
	for p := top + 1; p < len(span); p++ {
		c.sheds[p] = o.probability(p, &c.sheds)
	}
}

type countsV1 struct{ accepted, rejected, shed float64 }

func (c countsV1) refused() float64  { return c.rejected + c.shed }
func (c countsV1) requests() float64 { return c.accepted + c.refused() }
func (c countsV1) answers() float64  { return c.accepted + c.rejected }

func (c *countsV1) add(d countsV1, times float64) {
	c.accepted += times * d.accepted
	c.rejected += times * d.rejected
	c.shed += times * d.shed
}

// tiersV1 are the counts of each priority.
type tiersV1 [throttle.StandardPriorities]countsV1

func sumV1(t *tiersV1) (sum countsV1) {
	for p := range t {
		sum.add(t[p], 1)
	}
	return sum
}

// windowV1 counts the calls of the last seconds.
type windowV1 struct {
	buckets      [v1Buckets + 1]tiersV1 // the closed ones, and the open one
	open         int                    // number of the open bucket
	span, recent tiersV1
	ever         countsV1
}

func (w *windowV1) slot(number int) *tiersV1 {
	return &w.buckets[(number+len(w.buckets))%len(w.buckets)]
}

func (w *windowV1) add(p throttle.Priority, c countsV1) {
	for _, counts := range []*countsV1{&w.slot(w.open)[p], &w.span[p], &w.recent[p], &w.ever} {
		counts.add(c, 1)
	}
}

// roll opens the bucket of a number. It reports whether that was not open yet.
func (w *windowV1) roll(number int) bool {
	rolled := w.open < number
	for w.open < number {
		w.open++
		for p := range w.span {
			w.span[p].add(w.slot(w.open)[p], -1)
			w.recent[p].add(w.slot(w.open - v1Recent - 1)[p], -1)
		}
		*w.slot(w.open) = tiersV1{}
	}
	return rolled
}

// poolV1 is what the tiers below the top share.
type poolV1 struct {
	span, demand                *tiersV1
	counted, charged            float64 // shares of the rejections in span and in demand that are not forgiven
	accepted, accepting, probes float64
	alert                       bool
}

func newPoolV1(w *windowV1, m *monitorV1) poolV1 {
	o := poolV1{span: &w.span, demand: &w.span, counted: 1, charged: 1, probes: v1Padding, alert: m.alert}
	if m.alert {
		o.demand, o.probes = &w.recent, v1Padding/float64(v1RecentPart)
		o.counted, o.charged = unforgivenV1(o.span, m.background), unforgivenV1(o.demand, m.background)
	}
	span, demand := sumV1(o.span), sumV1(o.demand)
	o.accepted = span.accepted + (1-o.counted)*span.rejected
	o.accepting = demand.accepted + (1-o.charged)*demand.rejected
	return o
}

// unforgivenV1 returns the share of the rejections that is not explained by the background.
func unforgivenV1(t *tiersV1, background float64) float64 {
	sum := sumV1(t)
	if sum.rejected == 0 {
		return 1
	}
	return 1 - min(1, background*sum.answers()/sum.rejected)
}

// probability returns the probability that a call of tier p is shed.
func (o *poolV1) probability(p int, sheds *Tiers) float64 {
	own := o.demand[p].requests()
	all, probed, rejected, least := own, 0.0, 0.0, 0.0
	for i := range p {
		share, above := kinshipV1(o.span[p], o.span[i]), &o.demand[i]
		forgiven := (1 - o.charged) * above.rejected
		all += above.accepted + forgiven + share*(above.rejected-forgiven+above.shed)
		probed += share * above.requests() * (1 - sheds[i])
		rejected += share * o.span[i].rejected
		if o.alert {
			least = max(least, share*sheds[i])
		}
	}
	factor := float64(v1Ratio)
	if rejected += o.span[p].rejected; o.alert {
		factor = 1 + (v1Ratio-1)*max(0, 1-o.counted*rejected/(1+v1Target*o.accepted))
	}
	excess := min(own, max(0, all-factor*o.accepting))
	probe := max(v1LeastProbe*o.probes, o.probes-probed)
	return min(max(least, excess/(own+probe)), v1Largest)
}

// kinshipV1 returns how comparable the rejection rates of two tiers are.
func kinshipV1(own, above countsV1) float64 {
	rate := func(c countsV1) float64 { return (c.rejected + 0.1) / (c.answers() + 1) }
	share := min(1, 1.25*rate(own)/rate(above))
	return share * share
}
