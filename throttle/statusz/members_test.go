package statusz

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/spillway-go/spillway/throttle"
)

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

// TestMembers_largeGroup lists the worst members, and no more bytes than those of a few.
func TestMembers_largeGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const size = 1000
		p := New()
		defer p.Close()
		g := newGroup(t, p, throttle.Config{Name: "tenants", Policy: throttle.SRE, Priorities: 1, Rand: func() float64 { return 0 }})
		viewer := host(t, p).subscribe(t)
		viewer.next()
		var all []*throttle.Throttle
		for i := range size {
			th := throttle.Must(g.Get(fmt.Sprintf("%04d%s", i*7%size, strings.Repeat(".example", 100))))
			call(th, throttle.High, i%10*7, down())
			call(th, throttle.High, i%3, nil)
			all = append(all, th)
		}
		_, sample, err := viewer.next()
		if err != nil {
			t.Fatal(err)
		}
		slices.SortFunc(all, func(a, b *throttle.Throttle) int {
			x, y := a.Stats().Priorities[0], b.Stats().Priorities[0]
			return cmp.Or(cmp.Compare(y.Probability, x.Probability), cmp.Compare(y.Window.Shed, x.Window.Shed),
				cmp.Compare(y.Window.Rejected, x.Window.Rejected), strings.Compare(a.Key(), b.Key()))
		})
		body := request(p, http.MethodGet, "/?format=json").Body.Bytes()
		row := find(t, show(t, p), "tenants")
		if len(row.Members) != maxMembers || row.MembersOmitted != size-maxMembers || row.Instances != size {
			t.Errorf("got %d members, %d omitted, %d instances", len(row.Members), row.MembersOmitted, row.Instances)
		}
		for i, m := range row.Members {
			if key := all[i].Key(); m.Key != key[:maxKey]+"…" || m.Probability != all[i].RejectionProbability(throttle.High) {
				t.Errorf("member %d: got %+v want %.4s", i, m, key)
			}
		}
		event, err := json.Marshal(sample)
		if len(event) > 5000 || len(body) > 10_000 || err != nil {
			t.Errorf("got an event of %d bytes, and JSON of %d, %v want at most 5000 and 10000", len(event), len(body), err)
		}
	})
}
