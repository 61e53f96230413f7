package breaker_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker"
	"github.com/spillway-go/spillway/throttle/breaker/store"
)

// judge is a store with faults that writes down everything that was done to it, and finds what must not be.
type judge struct {
	mu      sync.Mutex
	inner   *breaker.MemoryStore
	rng     *rand.Rand
	faults  float64 // probability that something goes wrong with a call
	dead    map[string]bool
	config  breaker.Config
	life    int // counts losses of everything
	lost    bool
	records map[store.RecordID]*written
	shards  [store.NumShards]store.Version
	term    uint64
	events  map[string]int // by event: how many writes brought it
	gone    map[string]bool
	granted map[string]int
	forgets map[store.RecordID]bool
	history []string
	wrong   []string
}

// lose empties the store.
func (j *judge) lose() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.inner, j.records, j.shards = breaker.NewMemoryStore(), map[store.RecordID]*written{}, [store.NumShards]store.Version{}
	j.life++
	j.lost = true
	j.note("the store loses everything")
}

// note adds a line to the history. The lock is held.
func (j *judge) note(format string, args ...any) {
	j.history = append(j.history, fmt.Sprintf("%s %s", time.Now().Format("04:05.000"), fmt.Sprintf(format, args...)))
}

// blame notes what must not be. The lock is held.
func (j *judge) blame(format string, args ...any) {
	j.note("WRONG: "+format, args...)
	j.wrong = append(j.wrong, fmt.Sprintf(format, args...))
}

// write judges one change of a record.
func (j *judge) write(owner string, c store.Change, term uint64) {
	old := j.records[c.ID]
	if c.Data == nil {
		j.note("%s deletes %x", owner, c.ID[:4])
		if old != nil && (old.State != "closed" || old.Trips != 0 && !j.decays(old) || old.Forced || len(old.Pending) > 0) {
			j.blame("%s deleted %+v", owner, *old)
		}
		delete(j.records, c.ID)
		return
	}
	next := &written{at: time.Now()}
	if err := json.Unmarshal(c.Data, next); err != nil {
		j.blame("%v: %s", err, c.Data)
		return
	}
	j.note("%s, term %d, writes %s %s %s, generation %d, trips %d, pending %d", owner, term, next.ID, next.State, next.Reason, next.Generation, next.Trips, len(next.Pending))
	before := pendingOf(old)
	if next.Reason == "forgotten" {
		if !j.forgets[c.ID] {
			j.blame("%s forgets by itself", owner)
		}
		for _, e := range before {
			j.gone[e] = true
		}
	}
	for _, e := range pendingOf(next) {
		if !slices.Contains(before, e) {
			j.events[e]++
		}
	}
	if old == nil {
		old = &written{State: "closed"}
	}
	if !j.lost {
		j.judgeMove(old, next)
	}
	j.records[c.ID] = next
}

// judgeMove judges what became of a record, which the store has not lost.
func (j *judge) judgeMove(old, next *written) {
	move := old.State + " to " + next.State
	hand := (next.Reason == "by_hand" || next.Reason == "forgotten") && next.Generation == old.Generation+1
	late := time.UnixMicro(old.OpenUntil).Sub(next.at) - 150*time.Millisecond // a slow answer may have come just before
	moves := []string{
		"closed to open", "closed to disabled", "half_open to open", "half_open to closed", "half_open to disabled", "open to half_open",
		"open to open", "open to closed", "open to disabled", // by way of half-open, at once
	}
	switch {
	case hand:
		return
	case next.Generation != old.Generation && next.Generation != old.Generation+1:
		j.blame("generation %d after %d", next.Generation, old.Generation)
	case old.State == next.State && old.Generation == next.Generation:
		if next.Trips != old.Trips && (next.Trips != 0 || !j.decays(old)) {
			j.blame("%s: trips %d after %d", move, next.Trips, old.Trips)
		}
		return
	case old.Forced || old.State == "disabled":
		j.blame("%s by itself, forced %v", move, old.Forced)
	case !slices.Contains(moves, move):
		j.blame("%s", move)
	case old.State == "open" && late > 0:
		j.blame("%s %v before its time", move, late)
	}
	tripped := next.Generation == old.Generation+1 && next.State != "closed"
	if tripped && next.Trips != old.Trips+1 || !tripped && next.Trips != old.Trips {
		j.blame("%s: trips %d after %d", move, next.Trips, old.Trips)
	}
	if n := j.config.ConsecutiveFailureThreshold; (next.State == "disabled") != (tripped && next.Trips >= n) {
		j.blame("%s at trip %d of %d", move, next.Trips, n)
	}
}

// decays reports whether the circuit has been closed for so long that its trips may be forgotten.
func (j *judge) decays(w *written) bool {
	return w.State == "closed" && time.Since(time.UnixMicro(w.ChangedAt)) >= j.config.ConsecutiveResetAfter-150*time.Millisecond
}

// written is a record as JSON has it.
type written struct {
	Tenant     string `json:"tenant"`
	ID         string `json:"id"`
	State      string `json:"state"`
	Forced     bool   `json:"forced"`
	Trips      int    `json:"trips"`
	Generation uint64 `json:"generation"`
	Reason     string `json:"reason"`
	ChangedAt  int64  `json:"changed_at"`
	OpenUntil  int64  `json:"open_until"`
	Pending    []struct {
		To         string `json:"to"`
		Generation uint64 `json:"generation"`
		At         int64  `json:"at"`
	} `json:"pending"`

	at time.Time // of the write
}

func newJudge(seed uint64, c breaker.Config) *judge {
	j := &judge{
		rng: rand.New(rand.NewPCG(seed, 3)), config: c, dead: map[string]bool{}, events: map[string]int{}, gone: map[string]bool{},
		granted: map[string]int{}, forgets: map[store.RecordID]bool{},
	}
	j.lose()
	j.lost = false
	return j
}

// handle returns one agent's way to the store, with faults.
func (j *judge) handle(owner string) store.Store {
	return &proxy{via: func(ctx context.Context, op string, argument, answer any, call func(context.Context, store.Store) error) error {
		j.mu.Lock()
		kind, d := 0, time.Duration(j.rng.IntN(3000))*time.Microsecond
		if j.dead[owner] {
			kind = 1
		} else if j.rng.Float64() < j.faults {
			kind = 1 + j.rng.IntN(4)
		}
		j.mu.Unlock()
		switch kind {
		case 1:
			return errNetwork
		case 2:
			d += 100 * time.Millisecond // longer than StoreTimeout, and done in the end
		case 3:
			<-ctx.Done()
			return ctx.Err()
		}
		time.Sleep(d)
		j.mu.Lock()
		defer j.mu.Unlock()
		err := call(context.WithoutCancel(ctx), j.inner)
		if err == nil {
			j.done(owner, argument, answer)
		}
		if kind == 4 {
			return fmt.Errorf("%s: %w", op, errNetwork) // the answer is lost
		}
		return err
	}}
}

// done judges what the store has done. The lock is held.
func (j *judge) done(owner string, argument, answer any) {
	switch a := answer.(type) {
	case *store.Lease:
		if a.Term < j.term {
			j.blame("term %d after %d", a.Term, j.term)
		}
		j.term = a.Term
	case *store.Version:
		b := argument.(*store.Batch)
		if last := j.shards[b.Shard]; a.Epoch < last.Epoch || a.Epoch == last.Epoch && a.Number < last.Number {
			j.blame("version %v after %v", *a, last)
		}
		j.shards[b.Shard] = *a
		for _, c := range b.Changes {
			j.write(owner, c, b.Term)
		}
	case *[]store.ProbeGrant:
		for i, r := range argument.([]store.ProbeRequest) {
			n, key := (*a)[i].Granted, fmt.Sprintf("%x %d %d %d %d", r.ID[:4], r.Generation, r.Since.UnixMicro(), time.Since(r.Since)/r.Every, j.life)
			if n > 0 && time.Since(r.Since) < 0 {
				j.blame("a probe granted before its time")
			}
			if j.granted[key] += n; n > 0 && j.granted[key] > j.config.HalfOpenProbes {
				j.blame("%d probes granted to %s", j.granted[key], key)
			}
		}
	}
}

func pendingOf(w *written) []string {
	if w == nil {
		return nil
	}
	var ids []string
	for _, e := range w.Pending {
		event := breaker.Event{Key: breaker.Key{Tenant: w.Tenant, ID: w.ID}, Generation: e.Generation, At: time.UnixMicro(e.At)}
		ids = append(ids, event.ID())
	}
	return ids
}
