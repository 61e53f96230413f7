package breaker_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker"
	"github.com/spillway-go/spillway/throttle/breaker/store"
)

// calm ends all faults, and wants everything to be as if there had been none.
func (m *model) calm() {
	m.judge.mu.Lock()
	m.judge.faults = 0
	m.judge.note("all faults end")
	m.judge.mu.Unlock()
	m.mu.Lock()
	m.polls = 0
	m.mu.Unlock()
	m.ears.says(nil)
	time.Sleep(6 * time.Second) // agents leave a store that failed alone for 5 s
	m.converge()
	time.Sleep(time.Minute)
	m.judge.mu.Lock()
	defer m.judge.mu.Unlock()
	m.judgeEvents()
}

// converge wants all agents to know what the store holds, within three refreshes.
func (m *model) converge() {
	var last string
	for range 30 { // a change may come at any moment
		c := m.config
		c.Store = m.judge.handle("new manager")
		fresh := agent(m.t, c)
		if err := fresh.Refresh(m.t.Context()); err != nil {
			m.t.Fatal(err)
		}
		want := known(fresh)
		last = ""
		for _, a := range m.fleet {
			if got := known(a.Manager); got != want {
				last = fmt.Sprintf("%s knows\n%swant\n%s", a.owner, got, want)
			}
		}
		if last == "" {
			return
		}
		time.Sleep(3 * m.config.Refresh / 30)
	}
	m.judge.mu.Lock()
	defer m.judge.mu.Unlock()
	m.judge.blame("three refreshes after the end of all faults %s", last)
}

// judgeEvents compares the reported changes with the written ones. The judge's lock is held.
func (m *model) judgeEvents() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ears.mu.Lock()
	defer m.ears.mu.Unlock()
	for id, n := range m.twice {
		if n > 1 {
			m.judge.blame("the hook was called %[2]d times for change %[1]s", id, n)
		}
	}
	for id, e := range m.ears.changed {
		if n := m.judge.events[id]; e.To != breaker.HalfOpen && (n == 0 || n > 1 && m.judge.life == 1) {
			m.judge.blame("the hook was called for change %s of %v to %v, which was written %d times", id, e.Key, e.To, n)
		}
	}
	for id := range m.judge.events {
		if m.ears.confirmed[id] == 0 && !m.judge.gone[id] && m.judge.life == 1 {
			m.judge.blame("change %s was never notified", id)
		}
	}
	for id := range m.ears.asked {
		if m.judge.events[id] == 0 {
			m.judge.blame("change %s was notified, and never written", id)
		}
	}
}

// model is one random history: a fleet, its endpoints, a store with faults, and changes by hand.
type model struct {
	t       *testing.T
	seed    uint64
	rng     *rand.Rand
	judge   *judge
	traffic *traffic
	ears    *ears
	config  breaker.Config
	keys    []breaker.Key
	health  map[breaker.Key]float64
	fleet   []living
	born    int
	twice   map[string]int
	mu      sync.Mutex
	polls   float64    // probability that something goes wrong with one
	luck    *rand.Rand // of polls
}

// changed is a hook.
func (m *model) changed(e breaker.Event) {
	m.ears.change(e)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.twice[fmt.Sprint(e.ID(), e.To)]++
}

// poll counts, and fails now and then.
func (m *model) poll(ctx context.Context, q breaker.PollQuery) (map[breaker.Key]breaker.PollResult, error) {
	m.mu.Lock()
	kind := 0
	if m.luck.Float64() < m.polls {
		kind = 1 + m.luck.IntN(3)
	}
	m.mu.Unlock()
	results, err := m.traffic.poll(ctx, q)
	switch kind {
	case 1:
		return nil, errBoom
	case 2:
		<-ctx.Done()
		return nil, ctx.Err()
	case 3:
		time.Sleep(1500 * time.Millisecond) // heeding nothing
	}
	return results, err
}

// birth adds an agent.
func (m *model) birth() {
	m.born++
	owner, c := fmt.Sprintf("agent %d", m.born), m.config
	c.Store = m.judge.handle(owner)
	c.OnStale = breaker.StalePolicy(m.rng.IntN(3))
	a := agent(m.t, c)
	m.fleet = append(m.fleet, living{a, owner, running(m.t, a)})
}

// death ends an agent without a word to the store.
func (m *model) death() {
	i := m.rng.IntN(len(m.fleet))
	m.judge.mu.Lock()
	dead := m.fleet[i]
	m.judge.dead[dead.owner] = true
	m.judge.note("%s dies, leads %v", dead.owner, dead.Stats().Leads)
	m.judge.mu.Unlock()
	dead.stop()
	m.fleet = slices.Delete(m.fleet, i, i+1)
}

// step does what may happen in a tenth of a second.
func (m *model) step() {
	for _, k := range m.keys {
		if m.rng.IntN(100) == 0 {
			m.health[k] = []float64{0, 0.2, 0.8, 1}[m.rng.IntN(4)]
		}
		for range m.rng.IntN(3) {
			m.call(k)
		}
	}
	k, a := m.keys[m.rng.IntN(len(m.keys))], m.fleet[m.rng.IntN(len(m.fleet))]
	switch m.rng.IntN(400) {
	case 0:
		m.death()
		m.birth()
	case 1:
		if m.seed%3 == 0 { // afterwards less can be judged
			m.judge.lose()
		}
	case 2:
		m.byHand(k, a.Disable, "disables")
	case 3, 4:
		m.byHand(k, a.Enable, "enables")
	case 5:
		m.byHand(k, a.ForceOpen, "forces open")
	case 6:
		m.byHand(k, a.ForceClose, "forces closed")
	case 7:
		m.judge.mu.Lock()
		m.judge.forgets[k.RecordID()] = true
		m.judge.mu.Unlock()
		m.byHand(k, a.Forget, "forgets")
	case 8:
		m.ears.says(nil)
	}
}

func (m *model) byHand(k breaker.Key, change func(context.Context, breaker.Key) error, what string) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	err := change(ctx, k)
	m.judge.mu.Lock()
	defer m.judge.mu.Unlock()
	m.judge.note("by hand: %s %s: %v", what, k.ID, err)
}

// call makes a call, and judges whether it may be made.
func (m *model) call(k breaker.Key) {
	a := m.fleet[m.rng.IntN(len(m.fleet))]
	m.judge.mu.Lock()
	rec := m.judge.records[k.RecordID()]
	before, lost := a.Status(k), m.judge.lost
	m.judge.mu.Unlock()
	stats := a.Stats()
	_, err := a.Circuit(k).Acquire(m.t.Context())
	m.judge.mu.Lock()
	defer m.judge.mu.Unlock()
	if err != nil {
		var shed *breaker.ShedError
		if !errors.As(err, &shed) {
			m.judge.blame("refused with an error that is none of the breaker's: %v", err)
		}
		return
	}
	m.traffic.end(k, m.rng.Float64() < m.health[k])
	read := time.Now().Add(-stats.SnapshotAge)
	knows := stats.SnapshotAge >= 0 && !stats.Stale && !lost && rec == m.judge.records[k.RecordID()] && rec != nil && rec.at.Before(read.Add(-time.Millisecond))
	if knows && stats.SnapshotAge > time.Millisecond && (rec.State == "disabled" || rec.State == "open" && (rec.Forced || time.Now().Before(time.UnixMicro(rec.OpenUntil).Add(-150*time.Millisecond)))) {
		m.judge.blame("%s let a call to %s through, %s until %v, which it had read %v ago; it knows %+v", a.owner, k.ID, rec.State, time.UnixMicro(rec.OpenUntil), stats.SnapshotAge, before)
	}
}

// TestRandomHistories makes hundreds of short histories, each of another seed, and checks each against the rules of the breaker.
func TestRandomHistories(t *testing.T) {
	for seed := range size[uint64](400, 12, 4) { // each makes five thousand goroutines
		if bad := history(t, seed); bad != nil {
			tail := bad.judge.history
			if len(tail) > 150 {
				tail = tail[len(tail)-150:]
			}
			t.Fatalf("seed %d:\n%s\nhistory:\n%s", seed, strings.Join(bad.judge.wrong, "\n"), strings.Join(tail, "\n"))
		}
	}
}

// history makes one history, and returns it if something was wrong.
func history(t *testing.T, seed uint64) (bad *model) {
	synctest.Test(t, func(t *testing.T) {
		m := newModel(t, seed)
		for range 3 {
			m.birth()
		}
		for range 600 {
			m.step()
			time.Sleep(100 * time.Millisecond)
		}
		m.calm()
		for _, a := range m.fleet {
			a.stop()
		}
		time.Sleep(time.Second)
		if len(m.judge.wrong) > 0 {
			bad = m
		}
	})
	return bad
}

func newModel(t *testing.T, seed uint64) *model {
	m := &model{
		t: t, seed: seed, rng: rand.New(rand.NewPCG(seed, 4)), luck: rand.New(rand.NewPCG(seed, 6)), traffic: newTraffic(seed), ears: newEars(),
		health: map[breaker.Key]float64{}, twice: map[string]int{},
		keys: []breaker.Key{{ID: "a"}, {ID: "b"}, {ID: "c"}, {ID: "d"}},
	}
	m.config = breaker.Config{
		Name: "deliveries", SampleRate: time.Second, ObservabilityWindow: 10 * time.Second, Refresh: 200 * time.Millisecond, MaxStale: 5 * time.Second,
		StoreTimeout: 50 * time.Millisecond, BreakerTimeout: 5 * time.Second, ConsecutiveFailureThreshold: 3, ConsecutiveResetAfter: 15 * time.Second,
		HalfOpenProbes: 1 + m.rng.IntN(5), MinimumRequestCount: 5, HalfOpenMax: 6 * time.Second,
		Poll: m.poll, Notify: m.ears.notify, NotifyTimeout: time.Second, Hooks: breaker.Hooks{Changed: m.changed},
	}
	m.judge = newJudge(seed, m.config)
	m.judge.faults = []float64{0, 0.02, 0.2, 0.5}[m.rng.IntN(4)]
	m.polls = []float64{0, 0.1, 0.4}[m.rng.IntN(3)]
	if m.rng.IntN(3) == 0 {
		m.ears.answer = func(context.Context, breaker.Event) error { return errBoom }
	}
	return m
}

// living is an agent of the fleet.
type living struct {
	*breaker.Manager
	owner string
	stop  func()
}

// known is what an agent knows, to be compared.
func known(a *breaker.Manager) string {
	text := ""
	for _, s := range a.List() {
		text += fmt.Sprintf("  %v: %v, forced %v, trips %d, generation %d\n", s.Key, s.State, s.Forced, s.Trips, s.Generation)
	}
	return text
}

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
