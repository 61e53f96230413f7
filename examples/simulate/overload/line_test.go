package overload

import (
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle"
)

// happening is something that happened in a line.
type happening struct {
	at   time.Duration
	call int
	what string
}

// drain lets everything happen in a line until then.
func drain(l *line, until time.Duration) []happening {
	var all []happening
	for {
		at, served := l.next()
		switch {
		case at > until:
			return all
		case served:
			w, useful := l.serve(at)
			what := "served"
			if !useful {
				what = "wasted"
			}
			all = append(all, happening{at, w.offer.client, what})
		default:
			all = append(all, happening{at, l.giveUp().offer.client, "given up"})
		}
	}
}

// stand puts so many calls into a line, and returns how many found room.
func stand(l *line, at time.Duration, calls int) int {
	for n := range calls {
		if !l.join(waiting{offer: offer{client: n}, arrived: at}) {
			return n
		}
	}
	return calls
}

func expect(t *testing.T, got, want []happening) {
	t.Helper()
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			t.Fatalf("missing: %v", want[i])
		case i >= len(want):
			t.Fatalf("too much: %v", got[i])
		case got[i] != want[i]:
			t.Fatalf("number %d: got %v, want %v", i, got[i], want[i])
		}
	}
}

const ms = time.Millisecond

func TestALineServesInOrder(t *testing.T) {
	l := newLine(0.1, 100)
	l.retune(0, 100)
	stand(l, 0, 3)
	expect(t, drain(l, time.Minute), []happening{{10 * ms, 0, "served"}, {20 * ms, 1, "served"}, {30 * ms, 2, "served"}})
	stand(l, time.Second, 1) // idle times are not saved up
	expect(t, drain(l, time.Minute), []happening{{1010 * ms, 0, "served"}})
}

func TestCallersGiveUpAndTheWorkIsDoneAllTheSame(t *testing.T) {
	l := newLine(0.1, 2)
	l.retune(0, 2)
	if got := stand(l, 0, 20); got != 10 {
		t.Errorf("%d calls found room, want 10: five seconds of work", got)
	}
	got := drain(l, 2*time.Second)
	if len(got) < 2 || got[1].at != time.Second || got[1].what != "served" {
		t.Fatalf("got %v, want the second call served at the very end of its caller's patience", got)
	}
	want := []happening{{500 * ms, 0, "served"}, {time.Second, 1, "served"}}
	for n := 2; n < 10; n++ {
		want = append(want, happening{time.Second, n, "given up"})
	}
	want = append(want, happening{1500 * ms, 2, "wasted"}, happening{2 * time.Second, 3, "wasted"})
	expect(t, got, want)
}

func TestRejectionsHoldALineUp(t *testing.T) {
	l := newLine(1, 100)
	l.retune(0, 100)
	stand(l, 0, 1)
	spent := 0.0
	for range 50 {
		spent += l.reject(0)
	}
	if spent != 10 {
		t.Errorf("fifty rejections cost %v, want the 10 of a tenth of a second", spent)
	}
	expect(t, drain(l, time.Minute), []happening{{110 * ms, 0, "served"}})
}

func TestALineThatStandsStill(t *testing.T) {
	l := newLine(0.1, 100)
	l.retune(0, 0)
	stand(l, 0, 2)
	expect(t, drain(l, time.Minute), []happening{{time.Second, 0, "given up"}, {time.Second, 1, "given up"}})
	l.retune(time.Minute, 100)
	expect(t, drain(l, 2*time.Minute), []happening{
		{time.Minute + 10*ms, 0, "wasted"}, {time.Minute + 20*ms, 1, "wasted"},
	})
}

func TestALineGrows(t *testing.T) {
	l := newLine(0, 1e6)
	l.retune(0, 1e6)
	stand(l, 0, 700)
	drain(l, 500*time.Microsecond)
	if got := stand(l, 500*time.Microsecond, 5000); got != 5000 {
		t.Fatalf("%d found room", got)
	}
	got := drain(l, time.Minute)
	for i, h := range got {
		if want := (i + 500) % 700; i < 200 && h.call != want || i >= 200 && h.call != i-200 {
			t.Fatalf("number %d is call %d", i, h.call)
		}
	}
	if len(got) != 5200 {
		t.Errorf("%d were served, want 5200", len(got))
	}
}

// TestClientsOfALineAreToldInTime plays a line with a client that notes what it is told.
func TestClientsOfALineAreToldInTime(t *testing.T) {
	s := steady(10*time.Second, mix(3))
	s.Backend = Queue
	w := &watcher{}
	play(t, s, w.policy(), 1, Options{Capacity: 50})
	if len(w.ended) != len(w.asked) {
		t.Errorf("%d calls were admitted, %d ended", len(w.asked), len(w.ended))
	}
	counts := map[string]int{}
	for i, e := range w.ended {
		if i > 0 && e.at.Before(w.ended[i-1].at) {
			t.Fatalf("ending %d was told before the one that it followed", i)
		}
		switch wait := e.at.Sub(w.asked[e.call]); {
		case wait < 0 || wait > patience:
			t.Fatalf("a call ended %v after it began", wait)
		case e.outcome == throttle.Accepted:
			counts["served"]++
		case wait == patience:
			counts["given up"]++
		case wait == 0:
			counts["full"]++
		default:
			t.Fatalf("a call was rejected after %v", wait)
		}
	}
	for _, what := range []string{"served", "given up", "full"} {
		if counts[what] < 50 {
			t.Errorf("%s: %d, want more", what, counts[what])
		}
	}
}

// TestLateSuccessesBelongToTheirOffers: what is offered in one second and served in the next counts for the first.
func TestLateSuccessesBelongToTheirOffers(t *testing.T) {
	s := usual("stop", "", "",
		Phase{Length: 2 * time.Second, Load: mix(1.3), Capacity: 1}, Phase{Length: 2 * time.Second, Capacity: 1})
	s.Backend = Queue
	series := play(t, s, policy(t, "none"), 1, Options{}).Series
	if series.Useful[2] < 100 {
		t.Errorf("%v were served after the last was offered, want some", series.Useful[2])
	}
	if series.Succeeded[2] != (Tiers{}) || series.Succeeded[1] != series.Offered[1] {
		t.Errorf("got %v successes of %v offers", series.Succeeded, series.Offered)
	}
}
