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

// handle is one agent's way to the store.
type handle struct {
	judge *judge
	owner string
}

func (h handle) Campaign(ctx context.Context, c store.Candidate) (store.Lease, error) {
	return through(ctx, h, "Campaign", func(ctx context.Context, s *breaker.MemoryStore) (store.Lease, error) {
		l, err := s.Campaign(ctx, c)
		if l.Term < h.judge.term {
			h.judge.blame("term %d after %d", l.Term, h.judge.term)
		}
		h.judge.term = l.Term
		return l, err
	})
}

func (h handle) Resign(ctx context.Context, l store.Lease) error {
	_, err := through(ctx, h, "Resign", func(ctx context.Context, s *breaker.MemoryStore) (int, error) { return 0, s.Resign(ctx, l) })
	return err
}

func (h handle) Versions(ctx context.Context) (store.Versions, error) {
	return through(ctx, h, "Versions", func(ctx context.Context, s *breaker.MemoryStore) (store.Versions, error) { return s.Versions(ctx) })
}

func (h handle) Load(ctx context.Context, shards []int) ([]store.Shard, error) {
	return through(ctx, h, "Load", func(ctx context.Context, s *breaker.MemoryStore) ([]store.Shard, error) { return s.Load(ctx, shards) })
}

func (h handle) Apply(ctx context.Context, b store.Batch) (store.Version, error) {
	return through(ctx, h, "Apply", func(ctx context.Context, s *breaker.MemoryStore) (store.Version, error) {
		v, err := s.Apply(ctx, b)
		if err != nil {
			return v, err
		}
		j := h.judge
		if last := j.shards[b.Shard]; v.Epoch < last.Epoch || v.Epoch == last.Epoch && v.Number < last.Number {
			j.blame("version %v after %v", v, last)
		}
		j.shards[b.Shard] = v
		for _, c := range b.Changes {
			j.write(h.owner, c, b.Term)
		}
		return v, nil
	})
}

func (h handle) Probe(ctx context.Context, requests []store.ProbeRequest) ([]store.ProbeGrant, error) {
	return through(ctx, h, "Probe", func(ctx context.Context, s *breaker.MemoryStore) ([]store.ProbeGrant, error) {
		grants, err := s.Probe(ctx, requests)
		for i, g := range grants {
			r := requests[i]
			key := fmt.Sprintf("%x %d %d %d %d", r.ID[:4], r.Generation, r.Since.UnixMicro(), time.Since(r.Since)/r.Every, h.judge.life)
			if g.Granted > 0 && time.Since(r.Since) < 0 {
				h.judge.blame("a probe granted before its time")
			}
			if h.judge.granted[key] += g.Granted; g.Granted > 0 && h.judge.granted[key] > h.judge.config.HalfOpenProbes {
				h.judge.blame("%d probes granted to %s", h.judge.granted[key], key)
			}
		}
		return grants, err
	})
}

func (h handle) Close() error { return nil }

// through makes a call, with faults.
func through[T any](ctx context.Context, h handle, op string, call func(context.Context, *breaker.MemoryStore) (T, error)) (T, error) {
	j := h.judge
	var none T
	j.mu.Lock()
	kind, d := 0, time.Duration(j.rng.IntN(3000))*time.Microsecond
	if j.dead[h.owner] {
		kind = 1
	} else if j.rng.Float64() < j.faults {
		kind = 1 + j.rng.IntN(4)
	}
	j.mu.Unlock()
	switch kind {
	case 1:
		return none, errNetwork
	case 2:
		d += 100 * time.Millisecond // longer than StoreTimeout, and done in the end
	case 3:
		<-ctx.Done()
		return none, ctx.Err()
	}
	time.Sleep(d)
	j.mu.Lock()
	answer, err := call(context.WithoutCancel(ctx), j.inner)
	j.mu.Unlock()
	if kind == 4 {
		return none, fmt.Errorf("%s: %w", op, errNetwork) // the answer is lost
	}
	return answer, err
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
