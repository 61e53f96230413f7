package statusz

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle"
)

// crowd makes calls of a full backend for two seconds: nine in ten of one tenant, some of twenty others, and a few of none.
func crowd(th *throttle.Throttle) {
	for i := range 1000 {
		ctx := throttle.WithTenant(context.Background(), "<greedy>")
		switch {
		case i%40 == 0:
			ctx = context.Background()
		case i%10 == 0:
			ctx = throttle.WithTenant(ctx, fmt.Sprint("tenant ", i/10%20))
		}
		err := down()
		if i%3 == 0 {
			err = nil
		}
		_ = th.Do(ctx, throttle.Low, func(context.Context) error { return err })
		time.Sleep(2 * time.Millisecond)
	}
}

// TestTenants has hashes, or keys after ShowTenants.
func TestTenants(t *testing.T) {
	onPage(t, func(t *testing.T, p *Page) {
		th := newThrottle(t, p, throttle.Config{Name: "db", Policy: throttle.SRE})
		newThrottle(t, p, throttle.Config{Name: "db"})
		if got := find(t, show(t, p), "db").Tenants; got != nil {
			t.Errorf("calm: got tenants %+v want none", got)
		}
		crowd(th)
		tick()
		got := find(t, show(t, p), "db").Tenants
		if got == nil || got.Known < 10 || got.Above < 1 || got.Shed == 0 || len(got.Top) != maxTenants {
			t.Fatalf("got tenants %+v want some, ten of them listed", got)
		}
		if _, data, err := host(t, p).subscribe(t).next(); err != nil || !strings.Contains(fmt.Sprint(data["throttles"]), "tenants:map[") {
			t.Errorf("stream: got no tenants, error %v", err)
		}
		top := got.Top[0]
		if top.Key != "" || len(top.ID) != 7 || top.Share < 0.8 || !top.Above {
			t.Errorf("first: got %+v want one with a hash and 0.9 of the calls, above its share", top)
		}
		if none := got.Top[1]; none.ID != "" || none.Share > 0.1 {
			t.Errorf("second: got %+v want the calls without a tenant", none)
		}
		p.ShowTenants(true)
		tick()
		crowd(th)
		tick()
		if again := find(t, show(t, p), "db").Tenants.Top[0]; again.Key != "<greedy>" || again.ID != top.ID {
			t.Errorf("with keys: got %+v want <greedy>, with the same hash", again)
		}
		p.ShowTenants(false)
		tick()
		if again := find(t, show(t, p), "db").Tenants.Top[0]; again.Key != "" {
			t.Errorf("without keys again: got %+v", again)
		}
	})
}
