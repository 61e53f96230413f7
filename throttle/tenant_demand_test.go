package throttle

import (
	"context"
	"testing"
)

// TestTopTenants has a greedy tenant, and calls without one.
func TestTopTenants(t *testing.T) {
	s := newShop(t, 6, Config{})
	wantSame(t, "calm", s.TopTenants(10, true).Known, 0)
	someone := func(i int) context.Context {
		if i < 30 {
			return ofNone(i)
		}
		return ofEach(i)
	}
	s.crowd(10, 0.1, someone)
	hashed := s.TopTenants(3, false)
	s.TopTenants(2, true)
	s.crowd(1, 0.1, someone)
	d := s.TopTenants(3, true)
	if d.Known != 71 || d.Above < 1 || d.Above > 20 || len(d.Top) != 3 || !d.Top[0].Above || d.Top[0].Share < 0.8 {
		t.Fatalf("got %+v, want 71 tenants of which the first one asks for 0.9", d)
	}
	wantSame(t, "key without keys", hashed.Top[0].Key, "")
	wantSame(t, "ID", hashed.Top[0].ID, d.Top[0].ID)
	wantSame(t, "length of the ID", len(d.Top[0].ID), 7)
	wantSame(t, "key", d.Top[0].Key, "tenant 99")
	wantSame(t, "ID of no tenant", d.Top[1].ID, "")
	wantSame(t, "key that is not kept yet", d.Top[2].Key, "")
	wantSame(t, "tenants below 0", len(s.TopTenants(-1, true).Top), 0)
}
