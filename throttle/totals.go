package throttle

import (
	"encoding/json"
	"iter"
)

// Total is a number of calls that ended with the same outcome and fault.
type Total struct {
	Outcome Outcome
	Fault   Fault
	Calls   uint64
}

// Totals counts calls by outcome and fault. The zero Totals is empty. Its JSON is a list of [Total].
type Totals struct {
	calls [numOutcomes][numFaults]uint64
}

// All yields every combination of outcome and fault with at least one call.
func (t Totals) All() iter.Seq[Total] {
	return func(yield func(Total) bool) {
		for o := range t.calls {
			for f, n := range t.calls[o] {
				if n > 0 && !yield(Total{Outcome(o), Fault(f), n}) {
					return
				}
			}
		}
	}
}

// Count returns the number of calls with outcome o and fault f.
func (t Totals) Count(o Outcome, f Fault) uint64 {
	if int(o) >= numOutcomes || int(f) >= numFaults {
		return 0
	}
	return t.calls[o][f]
}

// Outcome returns the number of calls with outcome o.
func (t Totals) Outcome(o Outcome) uint64 {
	var sum uint64
	for f := range Faults() {
		sum += t.Count(o, f)
	}
	return sum
}

// Fault returns the number of calls with fault f.
func (t Totals) Fault(f Fault) uint64 {
	var sum uint64
	for o := range Outcomes() {
		sum += t.Count(o, f)
	}
	return sum
}

// Sum returns the number of all calls.
func (t Totals) Sum() uint64 {
	var sum uint64
	for o := range t.calls {
		for _, n := range t.calls[o] {
			sum += n
		}
	}
	return sum
}

// Add adds n calls with outcome o and fault f. It ignores values that are not defined.
func (t *Totals) Add(o Outcome, f Fault, n uint64) {
	if int(o) < numOutcomes && int(f) < numFaults {
		t.calls[o][f] += n
	}
}

// Merge adds all calls of other, for example of another throttle.
func (t *Totals) Merge(other Totals) {
	for o := range t.calls {
		for f := range t.calls[o] {
			t.calls[o][f] += other.calls[o][f]
		}
	}
}

// MarshalJSON returns the totals as a list of [Total].
func (t Totals) MarshalJSON() ([]byte, error) {
	list := []Total{}
	for total := range t.All() {
		list = append(list, total)
	}
	return json.Marshal(list)
}

// UnmarshalJSON reads a list of [Total].
func (t *Totals) UnmarshalJSON(text []byte) error {
	var list []Total
	if err := json.Unmarshal(text, &list); err != nil {
		return err
	}
	*t = Totals{}
	for _, total := range list {
		t.Add(total.Outcome, total.Fault, total.Calls)
	}
	return nil
}

// CauseTotals counts shed calls by cause. The zero CauseTotals is empty. Its JSON is an object with
// a number per cause.
type CauseTotals struct {
	calls [numCauses]uint64
}

// All yields every cause with its number of calls, 0 included.
func (t CauseTotals) All() iter.Seq2[Cause, uint64] {
	return func(yield func(Cause, uint64) bool) {
		for c, n := range t.calls {
			if !yield(Cause(c), n) {
				return
			}
		}
	}
}

// Count returns the number of calls with cause c.
func (t CauseTotals) Count(c Cause) uint64 {
	if int(c) >= numCauses {
		return 0
	}
	return t.calls[c]
}

// Sum returns the number of all calls.
func (t CauseTotals) Sum() uint64 {
	var sum uint64
	for _, n := range t.calls {
		sum += n
	}
	return sum
}

// Add adds n calls with cause c. It ignores a cause that is not defined.
func (t *CauseTotals) Add(c Cause, n uint64) {
	if int(c) < numCauses {
		t.calls[c] += n
	}
}

// Merge adds all calls of other.
func (t *CauseTotals) Merge(other CauseTotals) {
	for c := range t.calls {
		t.calls[c] += other.calls[c]
	}
}

// MarshalJSON returns an object with a number per cause.
func (t CauseTotals) MarshalJSON() ([]byte, error) { return marshalCauses(t.All()) }

// UnmarshalJSON reads an object with a number per cause.
func (t *CauseTotals) UnmarshalJSON(text []byte) error {
	return unmarshalCauses(text, func(c Cause, n uint64) { t.calls[c] = n })
}

// ShadowTotals counts the calls that [ModeEnforce] would have shed, by cause, outcome and fault. The
// zero ShadowTotals is empty. Its JSON is an object with [Totals] per cause.
type ShadowTotals struct {
	calls [numCauses]Totals
}

// All yields every cause with its totals, empty ones included.
func (t ShadowTotals) All() iter.Seq2[Cause, Totals] {
	return func(yield func(Cause, Totals) bool) {
		for c := range t.calls {
			if !yield(Cause(c), t.calls[c]) {
				return
			}
		}
	}
}

// Cause returns the totals of the calls with cause c.
func (t ShadowTotals) Cause(c Cause) Totals {
	if int(c) >= numCauses {
		return Totals{}
	}
	return t.calls[c]
}

// Sum returns the number of all calls.
func (t ShadowTotals) Sum() uint64 {
	var sum uint64
	for c := range t.calls {
		sum += t.calls[c].Sum()
	}
	return sum
}

// Merge adds all calls of other.
func (t *ShadowTotals) Merge(other ShadowTotals) {
	for c := range t.calls {
		t.calls[c].Merge(other.calls[c])
	}
}

// MarshalJSON returns an object with [Totals] per cause.
func (t ShadowTotals) MarshalJSON() ([]byte, error) { return marshalCauses(t.All()) }

// UnmarshalJSON reads an object with [Totals] per cause.
func (t *ShadowTotals) UnmarshalJSON(text []byte) error {
	return unmarshalCauses(text, func(c Cause, totals Totals) { t.calls[c] = totals })
}

func marshalCauses[T any](all iter.Seq2[Cause, T]) ([]byte, error) {
	byCause := map[Cause]T{}
	for c, value := range all {
		byCause[c] = value
	}
	return json.Marshal(byCause)
}

func unmarshalCauses[T any](text []byte, set func(Cause, T)) error {
	var byCause map[Cause]T
	if err := json.Unmarshal(text, &byCause); err != nil {
		return err
	}
	for c := range Causes() {
		set(c, byCause[c])
	}
	return nil
}
