package main

import (
	"math/rand/v2"
	"testing"

	"github.com/spillway-go/spillway/examples/webhooks/customer"
)

func open(t *testing.T, endpoints int) *customer.Server {
	t.Helper()
	server, err := customer.Open(endpoints, tenants)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Errorf("Close: got error %v want nil", err)
		}
	})
	return server
}

func TestCastGivesEachOnePart(t *testing.T) {
	for _, flags := range []string{"", "-endpoints 100", "-dead 20 -rate 3000", "-endpoints 500 -dead 1"} {
		s := settingsOf(t, flags)
		endpoints := open(t, s.endpoints).Endpoints()
		c := newCast(endpoints, s, rand.New(rand.NewPCG(s.seed, 0)))
		if got := len(c.dead); got != s.endpoints*s.dead/100 {
			t.Errorf("%q: got %d dead want %d", flags, got, s.endpoints*s.dead/100)
		}
		seen := map[*customer.Endpoint]int{}
		for _, part := range [][]*customer.Endpoint{c.revived, c.fixed, c.lost, c.late} {
			if len(part) == 0 {
				t.Errorf("%q: got a part that nobody plays", flags)
			}
			for _, e := range part {
				seen[e]++
			}
		}
		busy, whole := members(c.busy), members(append(append([]*customer.Endpoint{}, c.busy...), c.quiet...))
		if len(whole) != len(endpoints) || len(c.quiet) == 0 || len(c.busy) <= len(seen) {
			t.Errorf("%q: got %d busy and %d quiet endpoints want all %d, and some busy ones that live", flags, len(c.busy), len(c.quiet), len(endpoints))
		}
		for _, e := range endpoints {
			if n := seen[e]; n > 1 || e.Doomed != (n == 1) || n == 1 && !busy[e] {
				t.Errorf("%q: endpoint %d: got %d parts, doomed %v, busy %v", flags, e.Number, n, e.Doomed, busy[e])
			}
		}
	}
}

func TestSeedSaysWhoDies(t *testing.T) {
	s := settingsOf(t, "-endpoints 200")
	server := open(t, s.endpoints)
	draw := func(seed uint64) []*customer.Endpoint {
		return newCast(server.Endpoints(), s, rand.New(rand.NewPCG(seed, 0))).dead
	}
	first, again, other := draw(1), draw(1), draw(2)
	same, different := 0, 0
	for i := range first {
		if first[i] == again[i] {
			same++
		}
		if first[i] != other[i] {
			different++
		}
	}
	if same != len(first) || different == 0 {
		t.Errorf("dead: got %d the same with the same seed and %d others with another want %d and some", same, different, len(first))
	}
}

func TestEveryIllnessOccurs(t *testing.T) {
	server := open(t, 200)
	dead := server.Endpoints()[:20]
	kill(dead)
	var n [customer.Flaky + 1]int
	for _, e := range dead {
		n[e.Health()]++
	}
	if want := [...]int{0, 10, 4, 3, 3}; n != want {
		t.Errorf("illnesses: got %v want %v", n, want)
	}
	heal(dead)
	for _, e := range dead {
		if e.Health() != customer.Well {
			t.Errorf("endpoint %d: got %v want well", e.Number, e.Health())
		}
	}
}
