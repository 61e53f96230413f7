package statusz

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

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

// TestMembers_largeGroup lists the worst members, and no more bytes than those of a few.
func TestMembers_largeGroup(t *testing.T) {
	onPage(t, func(t *testing.T, p *Page) {
		const size = 1000
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
