package statusz

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/spillway-go/spillway/throttle"
)

// newGroup returns a group whose members are on the page.
func newGroup(t testing.TB, p *Page, c throttle.Config) *throttle.Group {
	t.Helper()
	c.Hooks = p.Hooks()
	g, err := throttle.NewGroup(func(string) throttle.Config { return c }, throttle.GroupConfig{Max: 5000})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.Close() })
	return g
}

func keys(members []memberDocument) string {
	var all []string
	for _, m := range members {
		all = append(all, m.Key)
	}
	return strings.Join(all, " ")
}

func TestMembers_ofAGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New()
		defer p.Close()
		newThrottle(t, p, throttle.Config{Name: "single"})
		hosts := newGroup(t, p, throttle.Config{Name: "hosts", Policy: throttle.SRE, Priorities: 2})
		sick, worse, well := throttle.Must(hosts.Get("sick")), throttle.Must(hosts.Get("worse")), throttle.Must(hosts.Get("well"))
		newThrottle(t, p, throttle.Config{Name: "hosts", Priorities: 2}) // not a member
		call(well, throttle.High, 50, nil)
		call(sick, throttle.High, 40, nil)
		call(sick, throttle.Important, 60, down())
		call(worse, throttle.High, 100, down())
		_ = throttle.Must(well.Admit(t.Context(), throttle.Important))

		doc := show(t, p)
		if got := find(t, doc, "single"); got.Members == nil || len(got.Members) != 0 || got.MembersOmitted != 0 {
			t.Errorf("no group: got members %v, %d omitted want [], 0", got.Members, got.MembersOmitted)
		}
		row := find(t, doc, "hosts")
		if got, want := keys(row.Members), "worse sick well"; got != want || row.MembersOmitted != 0 || row.Instances != 4 {
			t.Fatalf("got members %q, %d omitted, %d instances want %q, 0, 4", got, row.MembersOmitted, row.Instances, want)
		}
		for i, m := range []*throttle.Throttle{worse, sick, well} {
			want := memberOf(m.Key(), new(m.Stats()))
			if row.Members[i] != want {
				t.Errorf("got member %+v want %+v", row.Members[i], want)
			}
		}
		if first := row.Members[0]; first.Probability < 0.5 || first.Window.Rejected == 0 || first.Window.Shed == 0 {
			t.Errorf("the worst: got %+v", first)
		}
		if last := row.Members[2]; last.InFlight != 1 || last.Window != (windowDocument{Accepted: 50}) {
			t.Errorf("the best: got %+v", last)
		}
		_ = worse.Close()
		tick()
		if got := keys(find(t, show(t, p), "hosts").Members); got != "sick well" {
			t.Errorf("after one is closed: got members %q", got)
		}
	})
}

// TestWorstMembers compares worstMembers with a sort of all members.
func TestWorstMembers(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{0, 1, 2, maxMembers - 1, maxMembers, maxMembers + 1, 50, 1000} {
		for range 20 {
			var got worstMembers
			var all []memberDocument
			for i := range n {
				key := fmt.Sprint("host-", i)
				stats := &throttle.Stats{Priorities: make([]throttle.PriorityStats, 3)}
				for p := range stats.Priorities {
					stats.Priorities[p].Probability = float64(random.IntN(4)) / 4
					stats.Priorities[p].Window.Shed = random.Uint64N(3)
				}
				got.add(key, stats)
				all = append(all, memberOf(key, stats))
			}
			slices.SortFunc(all, compareMembers)
			worst, omitted := got.documents()
			if want := all[:min(n, maxMembers)]; !slices.Equal(worst, want) || omitted != n-len(want) {
				t.Fatalf("of %d: got %v and %d more want %v", n, worst, omitted, want)
			}
		}
	}
}

// TestMembers_largeGroup checks that the cost of the list does not grow with the group.
func TestMembers_largeGroup(t *testing.T) {
	const size = 1000
	p := New()
	defer p.Close()
	g := newGroup(t, p, throttle.Config{Name: "tenants"})
	s := p.newSampler()
	s.sample()
	for i := range size {
		call(throttle.Must(g.Get(fmt.Sprintf("%04d%s", i, strings.Repeat(".example", 100)))), throttle.Low, i%50, down())
	}
	s.sample()
	row := documentOf(&p.registry.read()[0])
	if len(row.Members) != maxMembers || row.MembersOmitted != size-maxMembers || row.Instances != size {
		t.Errorf("got %d members, %d omitted, %d instances", len(row.Members), row.MembersOmitted, row.Instances)
	}
	for _, m := range row.Members {
		if len(m.Key) > maxKey+len("…") {
			t.Errorf("got a key of %d bytes want at most %d", len(m.Key), maxKey)
		}
	}
	if got, most := len(s.latest.Load().event.data), 5000; got > most {
		t.Errorf("got an event of %d bytes want at most %d", got, most)
	}
	if got, most := len(s.latest.Load().document()), 10_000; got > most {
		t.Errorf("got JSON of %d bytes want at most %d", got, most)
	}

	stats := throttle.Must(g.Get("one")).Stats()
	var worst worstMembers
	worst.add("first", &stats)
	if got := testing.AllocsPerRun(100, func() {
		stats.Priorities[0].Probability += 0.001 // so that each is worse than all before
		worst.add("next", &stats)
	}); got != 0 {
		t.Errorf("got %v allocations for each member want 0", got)
	}
}

func TestMembers_stream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New()
		defer p.Close()
		hosts := newGroup(t, p, throttle.Config{Name: "hosts", Priorities: 1})
		a := throttle.Must(hosts.Get("a"))
		viewer := host(t, p).subscribe(t)
		next := func(event string) map[string]any {
			t.Helper()
			name, data, err := viewer.next()
			if name != event || err != nil {
				t.Fatalf("got event %q, %v want %s", name, err, event)
			}
			return data
		}
		row := next("snapshot")["throttles"].([]any)[0].(map[string]any)
		const before = "[map[in_flight:0 key:a probability:0 window:map[accepted:0 rejected:0 shed:0]]]"
		if got := fmt.Sprint(row["members"], row["members_omitted"]); got != before+" 0" {
			t.Errorf("snapshot: got %s want %s 0", got, before)
		}
		if got := next("sample")["members"]; got != nil {
			t.Errorf("nothing new: got %v", got)
		}
		call(a, throttle.High, 2, nil)
		const after = "[map[id:1 members:[map[in_flight:0 key:a probability:0 window:map[accepted:2 rejected:0 shed:0]]] members_omitted:0]]"
		if got := fmt.Sprint(next("sample")["members"]); got != after {
			t.Errorf("two calls: got %s want %s", got, after)
		}
		newThrottle(t, p, throttle.Config{Name: "hosts", Priorities: 1})
		_ = a.Close()
		if got, want := fmt.Sprint(next("sample")["members"]), "[map[id:1 members:[] members_omitted:0]]"; got != want {
			t.Errorf("closed: got %s want %s", got, want)
		}
	})
}
