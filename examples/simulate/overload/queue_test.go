package overload

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle"
)

// event is a call that was served or timed out.
type event struct {
	at   time.Duration
	call int
	what string
}

// drain ends the calls that are due until a time.
func drain(q events, until time.Duration) (all []event) {
	for {
		at, c, served := q.next(until)
		switch {
		case c == nil:
			return all
		case !served:
			all = append(all, event{at, c.offer.client, "timed out"})
		case c.over:
			all = append(all, event{at, c.offer.client, "wasted"})
		default:
			all = append(all, event{at, c.offer.client, "served"})
		}
		c.over = true
	}
}

// enqueue adds calls to a queue, and returns how many it has accepted.
func enqueue(q *queue, at time.Duration, calls int) int {
	for n := range calls {
		if !q.add(waitingCall{offer: offer{client: n}, arrived: at}) {
			return n
		}
	}
	return calls
}

func expect(t *testing.T, got, want []event) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Fatalf("got  %v\nwant %v", got, want)
	}
}

const ms = time.Millisecond

func TestQueueServesCallsThatTimedOut(t *testing.T) {
	q := newQueue(0.1, 2)
	q.setRate(0, 2)
	if got := enqueue(q, 0, 20); got != 10 {
		t.Errorf("%d calls were accepted, want 10: five seconds of work", got)
	}
	want := []event{{500 * ms, 0, "served"}, {time.Second, 1, "served"}}
	for n := 2; n < 10; n++ {
		want = append(want, event{time.Second, n, "timed out"})
	}
	want = append(want, event{1500 * ms, 2, "wasted"}, event{2 * time.Second, 3, "wasted"})
	expect(t, drain(q, 2*time.Second), want)
}

func TestRejectionsDelayTheQueue(t *testing.T) {
	q := newQueue(1, 100)
	q.setRate(0, 100)
	enqueue(q, 0, 1)
	spent := 0.0
	for range 50 {
		spent += q.reject(0)
	}
	if spent != 10 {
		t.Errorf("fifty rejections cost %v, want the 10 of a tenth of a second", spent)
	}
	expect(t, drain(q, time.Minute), []event{{110 * ms, 0, "served"}})
}

// TestQueueCallsEndInTime plays a queue with a client that records its calls.
func TestQueueCallsEndInTime(t *testing.T) {
	s := steady(10*time.Second, mix(3))
	s.Backend = Queue
	w := &watcher{}
	play(t, s, w.policy(), 1, Options{Capacity: 50, Certain: true})
	if len(w.ended) != len(w.asked) {
		t.Errorf("%d calls were admitted, %d ended", len(w.asked), len(w.ended))
	}
	counts := map[string]int{}
	for i, e := range w.ended {
		if i > 0 && e.at.Before(w.ended[i-1].at) {
			t.Fatalf("End %d was called before the one that it followed", i)
		}
		switch wait := e.at.Sub(w.asked[e.call]); {
		case wait < 0 || wait > callerTimeout:
			t.Fatalf("a call ended %v after it began", wait)
		case e.outcome == throttle.Accepted:
			counts["served"]++
		case wait == callerTimeout && e.outcome == throttle.Rejected:
			counts["timed out"]++
		case wait == 0 && e.outcome == throttle.Overloaded:
			counts["full"]++
		default:
			t.Fatalf("a call ended with %v after %v", e.outcome, wait)
		}
	}
	for _, what := range []string{"served", "timed out", "full"} {
		if counts[what] < 50 {
			t.Errorf("%s: %d, want more", what, counts[what])
		}
	}
}

// TestLateSuccessesBelongToTheirOffers: what is offered in one second and served in the next counts for the first.
func TestLateSuccessesBelongToTheirOffers(t *testing.T) {
	s := row("stop", "", "2 load=1.3; 2 load=0")[0]
	s.Backend = Queue
	series := play(t, s, policy(t, "none"), 1, Options{}).Series
	if last, after := series[1], series[2]; after.Useful < 100 || after.Succeeded != (Tiers{}) || last.Succeeded != last.Offered {
		t.Errorf("got %+v, then %+v want calls that are served after the last was offered, and count for it", last, after)
	}
}

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
