package statusz

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spillway-go/spillway/internal/byname"
	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/internal/remote"
)

// registry holds the throttles and the sources of the page. Its locks are not held while a function
// of the user runs. Throttle.Stats runs one: it calls Config.Now.
type registry struct {
	throttles   byname.Registry[*throttle.Throttle, memberStats, rowStats, uint64]
	showTenants atomic.Bool // with their keys

	mu      sync.Mutex
	ended   bool
	ids     uint64    // the last that was given to a row or a source
	sources []*source // in order of arrival
}

// memberStats is the Stats of one throttle. ok is false if Stats panicked.
type memberStats struct {
	key     string
	stats   throttle.Stats
	tenants throttle.TenantDemand
	ok      bool
}

// setUp lets throttles join. They are one row per name, which goes with its last open throttle.
func (g *registry) setUp() {
	g.throttles.Kind = byname.Kind[*throttle.Throttle, memberStats, rowStats, uint64]{
		Name:   (*throttle.Throttle).Name,
		Data:   func(*throttle.Throttle) uint64 { return g.newID() },
		Read:   g.readMember,
		Busy:   func(m *memberStats) bool { return !m.ok || slices.ContainsFunc(m.stats.Priorities, isInFlight) },
		Add:    rowStats.with,
		Clone:  func(r rowStats) rowStats { r.priorities = slices.Clone(r.priorities); return r },
		Forget: true,
	}
}

func isInFlight(p throttle.PriorityStats) bool { return p.InFlight > 0 }

func (g *registry) newID() uint64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ids++
	return g.ids
}

// end removes all throttles and sources. None can be added afterwards.
func (g *registry) end() {
	g.throttles.End()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ended = true
	g.sources = nil
}

// read returns the stats of every row, ordered by name, without those whose Config.Now ends its
// goroutine.
func (g *registry) read() []rowStats {
	sources := g.throttles.Sources()
	rows := make([]rowStats, 0, len(sources))
	for _, s := range sources {
		open := false
		r, err := remote.Await(context.Background(), func(context.Context) (r rowStats, _ error) {
			r, open, _ = s.Read() // there is no error: readMember recovers panics
			return r, nil
		}, nil)
		if err == nil && open {
			r.id, r.name = s.Data, s.Name
			rows = append(rows, r)
		}
	}
	slices.SortFunc(rows, func(a, b rowStats) int { return strings.Compare(a.name, b.name) })
	return rows
}

// readMember reads one throttle. A panic of the user's Config.Now must not end the process.
func (g *registry) readMember(t *throttle.Throttle) (m memberStats) {
	defer func() { m.ok = recover() == nil }()
	return memberStats{key: t.Key(), stats: t.Stats(), tenants: t.TopTenants(maxTenants, g.showTenants.Load())}
}

// rowStats is what a row shows at one instant.
type rowStats struct {
	id         uint64
	name       string
	instances  int
	settings   settings             // of the oldest open member
	mixed      bool                 // members differ in their settings
	state      throttle.PolicyState // of the member that has been in alert the longest, or quiet
	slow       throttle.SlowStats   // of all open members; without Gate, which is in settings
	processor  time.Duration        // lowest ProcessorWait of the open members that serve calls, or 0
	exempt     uint64               // calls
	told       string               // what the open members say to their clients; empty if nothing
	received   string               // what their backends say; empty if nothing
	tenants    throttle.TenantDemand
	priorities []throttle.PriorityStats // sums
	members    worstMembers             // throttles with a key; empty if there is no Group
}

// settings are a head without anything else, and the settings of slow calls.
type settings struct {
	headDocument
	slow time.Duration // 0 if it is learned: each throttle learns its own
	auto bool
	gate string
}

// with returns the row with one more throttle. A closed throttle adds only its counters. A throttle
// whose Stats panicked adds only to the number of instances.
func (r rowStats) with(m *memberStats, open bool) rowStats {
	if open {
		r.instances++
	}
	if !m.ok {
		return r
	}
	if open {
		r.addState(m.stats.State, r.settings == settings{})
		r.addSlow(&m.stats.Slow)
		r.addProcessorWait(m.stats.ProcessorWait)
		r.addLoad(&m.stats)
		r.addTenants(m.tenants)
		r.addSettings(settingsOf(&m.stats), r.settings == settings{})
		if m.key != "" {
			r.members.add(m.key, &m.stats)
		}
	}
	r.exempt += m.stats.Exempt
	r.priorities = addStats(r.priorities, &m.stats, open)
	return r
}

// addSettings compares the settings of a member with those of the first one.
func (r *rowStats) addSettings(s settings, first bool) {
	switch {
	case first:
		r.settings = s
	case s != r.settings:
		r.mixed = true
		r.settings.Mode = sameOrMixed(r.settings.Mode, s.Mode)
		r.settings.Policy = sameOrMixed(r.settings.Policy, s.Policy)
	}
}

// addState keeps the state of the longest alert, and the highest background.
func (r *rowStats) addState(s throttle.PolicyState, first bool) {
	background := max(r.state.Background, s.Background)
	quiet := r.state.Alert == throttle.NoAlert
	switch {
	case first,
		quiet && s.Alert != throttle.NoAlert,
		quiet == (s.Alert == throttle.NoAlert) && !s.Since.IsZero() && (r.state.Since.IsZero() || s.Since.Before(r.state.Since)):
		r.state = s
	}
	r.state.Background = background
}

// sameOrMixed returns a if it equals b, and else "mixed".
func sameOrMixed(a, b string) string {
	if a != b {
		return "mixed"
	}
	return a
}

func settingsOf(s *throttle.Stats) settings {
	slow := s.Slow.Slow
	if s.Slow.Auto {
		slow = 0
	}
	return settings{
		headDocument: headDocument{
			Policy: s.Policy.String(), Mode: s.Mode.String(), Ratio: finite(s.Ratio), MinimumRate: finite(s.MinimumRate),
			TargetRejection: finite(s.TargetRejection), WindowSeconds: s.Window.Seconds(),
		},
		slow: slow, auto: s.Slow.Auto, gate: s.Slow.Gate.String(),
	}
}

// addStats adds the Stats of one throttle to the sums. The current values (probability, window,
// calls in flight) are added only if the throttle is open.
func addStats(to []throttle.PriorityStats, stats *throttle.Stats, open bool) []throttle.PriorityStats {
	for p := range stats.Priorities {
		from := &stats.Priorities[p]
		if p == len(to) {
			to = append(to, throttle.PriorityStats{Priority: from.Priority})
		}
		to[p].Merge(from, open)
	}
	return to
}

// addLoad keeps what the members say to their clients, and the worst that their backends say.
func (r *rowStats) addLoad(s *throttle.Stats) {
	if s.SendsLoad {
		word := "calm"
		if s.Load.Overloaded {
			word = "overloaded"
		}
		r.told = worse(r.told, word)
	}
	if s.Received.Known {
		r.received = worse(r.received, s.Received.String())
	}
}

// worse returns the worse one of two words. An empty one is no word.
func worse(a, b string) string {
	order := []string{"", "calm", "mixed", "doubted", "overloaded"}
	if slices.Index(order, a) > slices.Index(order, b) {
		return a
	}
	return b
}
