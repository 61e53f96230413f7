package overload

import (
	"math/rand/v2"
	"testing"
	"time"
)

func newPool(v Service) *pool {
	return &pool{Service: &v, slower: 1, random: rand.New(rand.NewPCG(1, 1))}
}

func TestPoolServesInOrder(t *testing.T) {
	q := newPool(Service{Workers: 2, Patience: 250 * ms, Time: constant(100 * ms)})
	for n := range 6 {
		q.add(&waitingCall{offer: offer{client: n}})
	}
	expect(t, drain(q, time.Minute), []event{
		{100 * ms, 0, "served"},
		{100 * ms, 1, "served"},
		{200 * ms, 2, "served"},
		{200 * ms, 3, "served"},
		{250 * ms, 4, "timed out"},
		{250 * ms, 5, "timed out"},
		{300 * ms, 4, "wasted"},
		{300 * ms, 5, "wasted"},
	})
}

func TestPoolPauses(t *testing.T) {
	q := newPool(Service{Time: constant(100 * ms), Every: time.Second, Pause: 200 * ms})
	for n, at := range []time.Duration{50 * ms, 500 * ms, 950 * ms} {
		q.add(&waitingCall{offer: offer{client: n}, arrived: at})
	}
	expect(t, drain(q, time.Minute), []event{{300 * ms, 0, "served"}, {600 * ms, 1, "served"}, {1250 * ms, 2, "served"}})
}
