package throttle

import (
	"math"

	"github.com/spillway-go/spillway/throttle/internal/window"
)

// LoadReport is what a server says about its load, with each answer. Clients that listen shed what the
// server would shed, see [Throttle.ReceiveLoad]. The servers of packages httpthrottle, grpcthrottle and
// connectthrottle send it to clients that they trust.
type LoadReport struct {
	// Overloaded is true if the server has too many calls. If it is false, calls that fail there are no
	// sign of load.
	Overloaded bool
	// Utilization is the number of calls that the server has for each that it can serve. It is 0 if the
	// server is not overloaded.
	Utilization float64
	// Shed is the share of the calls that the server sheds, by priority: 0 to 1.
	Shed [MaxPriorities]float64
	// Answers is the number of answers that the report of a calm server counts for, because only one of so
	// many has a report. 0 counts as 1, and more than 16 as 16.
	Answers int
}

// LoadReport returns what this throttle says to the callers of this process: whether its policy is in
// alert, whether calls wait for a processor ([Config.ProcessorWait]), and which share it sheds of each
// priority. It is as cheap as a few loads, and allocates nothing. Ok is false if there is nothing to say:
// in ModeShadow and ModeOff the throttle sheds nothing, so clients must not do it in its place.
func (t *Throttle) LoadReport() (r LoadReport, ok bool) {
	if !t.valid() {
		return LoadReport{}, false
	}
	if !t.tells.Load() {
		t.tells.Store(true)
	}
	ok = t.fillLoadReport(&r)
	return r, ok
}

// fillLoadReport fills a report that is zero. A report has many words, so that to copy it costs more than the rest.
func (t *Throttle) fillLoadReport(r *LoadReport) (ok bool) {
	if t.tuning.Load().Mode != ModeEnforce {
		return false
	}
	share := t.reportPolicyShares(r)
	if local := t.local.Load(); local != nil && t.serves.Load() {
		if own := local.Share(); own > 0 {
			r.Overloaded, share = true, max(share, own)
			for p := range t.priorities {
				r.Shed[p] = max(r.Shed[p], local.Drop(p))
			}
		}
	}
	r.Overloaded = r.Overloaded || t.hasLimit()
	if share > 0 {
		r.Utilization = 1 / (1 - min(share, mostShare))
	}
	return true
}

// mostShare bounds the Utilization.
const mostShare = 0.99

// reportPolicyShares adds what the policy sheds to r, and returns its share of all calls. What Tiered sheds
// while it is quiet is for errors. What other servers have said is theirs.
func (t *Throttle) reportPolicyShares(r *LoadReport) (share float64) {
	if t.policy == Tiered && !t.stance.Load().inAlert() || !t.decisions.NeedsDecision() {
		return 0
	}
	r.Overloaded = t.policy == Tiered
	for p := range t.priorities {
		if d := t.decisions.Load(p); !d.Has(causedTold) {
			r.Shed[p] = d.Probability()
			r.Overloaded = r.Overloaded || r.Shed[p] > 0
		}
	}
	return math.Float64frombits(t.policyShare.Load())
}

// notePolicyShare stores the share of the calls that the policy sheds.
func (t *Throttle) notePolicyShare(span []window.Counts, estimates []estimate) {
	var shed, all float64
	for p, e := range estimates {
		all += requests(&span[p])
		shed += requests(&span[p]) * e.probability
	}
	if bits := math.Float64bits(shed / max(1, all)); bits != t.policyShare.Load() {
		t.policyShare.Store(bits)
	}
}

// hasLimit reports whether Config.SlowGate limits the open calls.
func (t *Throttle) hasLimit() bool {
	w := t.watch.Load()
	return w != nil && t.tuning.Load().SlowGate == ModeEnforce && w.gate.isClosed(t.priorities)
}
