package otelthrottle

import (
	"fmt"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker"
)

func TestWorstCircuits(t *testing.T) {
	at := func(s breaker.State, id string, minute int) breaker.Status {
		return breaker.Status{Key: breaker.Key{ID: id}, State: s, ChangedAt: time.Unix(0, 0).Add(time.Duration(minute) * time.Minute)}
	}
	list := []breaker.Status{
		at(breaker.HalfOpen, "h2", 9), at(breaker.Closed, "c", 10), at(breaker.Open, "o1", 3), at(breaker.Disabled, "d1", 1), at(breaker.Open, "o2", 8),
		at(breaker.Disabled, "d2", 2), at(breaker.HalfOpen, "h1", 9),
		{Key: breaker.Key{Tenant: "a", ID: "o0"}, State: breaker.Open, ChangedAt: at(breaker.Open, "", 3).ChangedAt},
	}
	for limit, want := range map[int]string{
		0: "[]", 1: "[d2]", 3: "[d2 d1 o2]", 5: "[d2 d1 o2 o1 o0]", 9: "[d2 d1 o2 o1 o0 h1 h2]",
	} {
		for _, lists := range [][][]breaker.Status{{list}, {list[:4], list[2:]}} {
			ids := []string{}
			for _, s := range worstCircuits(lists, limit) {
				ids = append(ids, s.Key.ID)
			}
			if got := fmt.Sprint(ids); got != want {
				t.Errorf("the worst %d of %d lists: got %s want %s", limit, len(lists), got, want)
			}
		}
	}
	if list[0].Key.ID != "h2" || len(worstCircuits(nil, 5)) != 0 {
		t.Error("worstCircuits: got a changed argument, or circuits out of nothing")
	}
}
