package feedback

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// model is a server with a capacity of 1, and one client for all of its calls. The server sheds exactly
// what is too much, and its clients receive of it later.
type model struct {
	State
	now     time.Duration
	delay   time.Duration
	lag     time.Duration // of the server: it takes the mean of this time
	demand  float64
	counts  [MaxPriorities]Counts
	reports []float64 // what the server said, by tick
	arrived []float64 // calls that have reached the server, by tick
}

const tick = 10 * time.Millisecond

func newModel(demand float64, delay, lag time.Duration) *model {
	m := &model{delay: delay, lag: lag, demand: demand}
	m.lasting, m.calmAt = Lasting, math.MinInt64/2
	return m
}

// run runs the model, and returns the probability at the client and the share at the server at its end.
func (m *model) run(length time.Duration, each func(client, server float64)) (client, server float64) {
	for range length / tick {
		m.now += tick
		client = m.Probability(m.now)[0]
		arriving := m.demand * (1 - client)
		m.arrived = append(m.arrived, arriving)
		server = max(0, 1-1/m.mean())
		m.reports = append(m.reports, server)
		if n := len(m.reports) - int(m.delay/tick); n > 0 {
			m.answer(1000*m.arrived[n-1], m.reports[n-1])
		}
		if each != nil {
			each(client, server)
		}
	}
	return client, server
}

// mean returns the calls that the server counts.
func (m *model) mean() float64 {
	n := max(1, min(len(m.arrived), int(m.lag/tick)))
	var sum float64
	for _, a := range m.arrived[len(m.arrived)-n:] {
		sum += a
	}
	return sum / float64(n)
}

// answer brings the answers to some calls, and what they say.
func (m *model) answer(calls, share float64) {
	m.counts[0].Answers += uint64(calls)
	m.counts[0].Full += uint64(calls * share)
	m.receive(share)
}

func (m *model) receive(share float64) {
	shares := [MaxPriorities]float64{share}
	if share > 0 || !m.Calm() {
		m.Add(share > 0, &shares, 1, m.now)
	}
	m.fade()
}

// fade updates the state if it is time to.
func (m *model) fade() {
	if m.Active() && m.Due(m.now) {
		m.Update(&m.counts, m.now, false)
	}
}

// TestState_settles checks that the loop settles without oscillation, and that then the server sheds little.
func TestState_settles(t *testing.T) {
	for _, demand := range []float64{1.2, 2, 5, 10} {
		for _, delay := range []time.Duration{10, 100, 200, 500} {
			name := fmt.Sprintf("load %v, delay %v ms", demand, int64(delay))
			m := newModel(demand, delay*time.Millisecond, 0)
			before, fell := 0.0, 0.0
			client, server := m.run(20*time.Second, func(client, _ float64) {
				fell = max(fell, before-client)
				before = max(before, client)
			})
			if fell > 0.01 {
				t.Errorf("%s: the probability fell by %.3f, want no oscillation", name, fell)
			}
			if server < 0.02 || server > 0.06 || math.Abs((1-client)*(1-server)*demand-1) > 1e-3 {
				t.Errorf("%s: got shares %.3f and %.3f", name, client, server)
			}
			took := 0.0
			m.demand = 0.8
			m.run(5*time.Second, func(client, _ float64) {
				if client > 0.01 {
					took += tick.Seconds()
				}
			})
			t.Logf("%s: recovery took %.2f s", name, took)
			if limit := 2.2 + m.delay.Seconds(); took > limit {
				t.Errorf("%s: recovery took %.2f s, want at most %.2f s", name, took, limit)
			}
		}
	}
}

// TestState_slowServer has a server whose policy takes the mean of two seconds, as Tiered does. That adds a
// second to the delay: the loop swings at first, and settles.
func TestState_slowServer(t *testing.T) {
	for _, demand := range []float64{2, 10} {
		m := newModel(demand, 100*time.Millisecond, 2*time.Second)
		m.run(15*time.Second, nil)
		low, high := 1.0, 0.0
		m.run(10*time.Second, func(client, _ float64) { low, high = min(low, client), max(high, client) })
		if need := 1 - 1/demand; high-low > 0.1 || high > need+0.1*(1-need) || low < 0.8*need {
			t.Errorf("load %v: the probability is %.3f to %.3f, want about %.3f", demand, low, high, need)
		}
	}
}

// TestState_replicas has three replicas behind a host, one of which sheds nearly all of its calls. The
// client must not shed those of the others for it.
func TestState_replicas(t *testing.T) {
	m := newModel(1, 0, 0)
	for i := range 10_000 {
		m.now += time.Millisecond
		share := 0.0
		if i%3 == 0 {
			share = 0.9
		}
		m.answer(10, share)
	}
	if p := m.Probability(m.now)[0]; p > 0.02 {
		t.Errorf("got %.3f, want hardly any", p)
	}
}

// TestState_lies has a server that says that it sheds, and sheds nothing. A client with few calls needs
// longer to notice.
func TestState_lies(t *testing.T) {
	for _, every := range []time.Duration{time.Millisecond, 20 * time.Millisecond, 500 * time.Millisecond} {
		m, dice := newModel(1, 0, 0), rand.New(rand.NewPCG(1, 1))
		calls, shed := 0, 0
		for range 2 * time.Minute / every {
			m.now += every
			calls++
			m.fade()
			if dice.Float64() < m.Probability(m.now)[0] {
				shed++
				continue
			}
			m.counts[0].Answers++
			m.receive(1)
		}
		if calls-shed < 5 || shed > 40 && float64(shed) > 0.02*float64(calls) {
			t.Errorf("a call each %v: shed %d of %d", every, shed, calls)
		}
		if every < time.Second/2 && !m.Summary(m.now).Doubted {
			t.Errorf("a call each %v: the server is believed", every)
		}
	}
}

// TestState_silence wants that a report fades if no other one comes.
func TestState_silence(t *testing.T) {
	m := newModel(10, 0, 0)
	client, _ := m.run(20*time.Second, nil)
	for _, c := range []struct {
		after       time.Duration
		least, most float64 // of the probability
	}{{0, 0.99, 1.01}, {2500 * time.Millisecond, 0.9, 1}, {4 * time.Second, 0.5, 0.7}, {Lasting, 0, 0}, {time.Hour, 0, 0}} {
		if p := m.Probability(m.now + c.after)[0] / client; p < c.least || p > c.most {
			t.Errorf("after %v: got %.3f of the probability, want %v to %v", c.after, p, c.least, c.most)
		}
	}
	m.now += Lasting + time.Second
	m.fade()
	if !m.Active() {
		t.Error("forgotten after five seconds, want the levels for the next report")
	}
	m.now += remembered
	m.fade()
	if m.Active() || m.Probability(m.now) != [MaxPriorities]float64{} || m.Summary(m.now).Known {
		t.Error("got a state that counts, want none")
	}
}

// TestState_longSilence wants that a report after a long time begins anew. There is no update meanwhile, because nothing
// is shed.
func TestState_longSilence(t *testing.T) {
	m := newModel(1, 0, 0)
	for range 100 {
		m.now += 100 * time.Millisecond
		m.receive(0.8)
	}
	m.now += 10 * time.Second
	m.fade()
	m.now += time.Hour
	m.receive(0.2)
	if p := m.Probability(m.now)[0]; p > 0.3 {
		t.Errorf("the server sheds 0.2: got %.2f of an hour ago", p)
	}
}

// TestState_rareReports wants that a report counts for longer in a client that receives few.
func TestState_rareReports(t *testing.T) {
	m := newModel(1, 0, 0)
	for range 20 {
		m.now += 2500 * time.Millisecond
		m.receive(0.8)
		m.fade()
	}
	before := m.Probability(m.now)[0]
	if soon, late := m.Probability(m.now + 4*time.Second)[0], m.Probability(m.now + longestLasting)[0]; soon < 0.9*before || late != 0 {
		t.Errorf("got %.2f, after 4 s %.2f, after 8 s %.2f", before, soon, late)
	}
}

// TestNew_lasting wants that clients differ.
func TestNew_lasting(t *testing.T) {
	if a, b := New(0).lasting, New(0.999).lasting; a != Lasting || b < 4*time.Second || b > Lasting-Lasting/10 {
		t.Errorf("got %v and %v, want 4s to 5s", a, b)
	}
}

// TestState_bounds has reports with numbers that no server should say, and a clock that jumps.
func TestState_bounds(t *testing.T) {
	for _, x := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), -1, 1e308, 2} {
		m := newModel(1, 0, 0)
		var shares [MaxPriorities]float64
		for p := range shares {
			shares[p] = x
		}
		for range 1000 {
			m.now += tick
			m.counts[0].Answers++
			m.counts[0].Full++
			m.Add(true, &shares, 1, m.now)
			m.fade()
		}
		for i, p := range m.Probability(m.now) {
			if want := x > 0; p > Most+1e-9 || p < 0 || p > 0 != want || want && p < 0.9 || math.IsNaN(p) {
				t.Fatalf("%v: got %v for priority %d", x, p, i)
			}
		}
		m.now -= time.Hour
		m.fade()
		if p := m.Probability(m.now); p != [MaxPriorities]float64{} {
			t.Errorf("the clock has jumped back: got %v", p)
		}
	}
}

// TestState_shadow wants what the server says, because nothing changes that.
func TestState_shadow(t *testing.T) {
	m := newModel(1, 0, 0)
	for range 2000 {
		m.now += tick
		m.counts[0].Answers += 100
		m.counts[0].Full += 80
		m.Add(true, &[MaxPriorities]float64{0.8}, 1, m.now)
		if m.Due(m.now) {
			m.Update(&m.counts, m.now, true)
		}
	}
	if p := m.Probability(m.now)[0]; math.Abs(p-0.8) > 0.01 {
		t.Errorf("got %.3f want 0.8", p)
	}
}

func TestState_Summary(t *testing.T) {
	full, half, calm := []bool{true}, []bool{true, false}, []bool{false}
	for name, c := range map[string]struct {
		received []bool
		want     Summary
	}{
		"nothing": {nil, Summary{}},
		"calm":    {calm, Summary{Known: true, Calm: true}},
		"full":    {full, Summary{Known: true, Overloaded: true}},
		"half":    {half, Summary{Known: true}},
	} {
		m := newModel(1, 0, 0)
		for i := range 500 {
			m.now += tick
			if c.received != nil {
				overloaded := c.received[i%len(c.received)]
				m.counts[0].Answers += 100
				m.counts[0].Full += 50
				if overloaded || !m.Calm() {
					m.Add(overloaded, &[MaxPriorities]float64{0.5}, 1, m.now)
				}
			}
			m.Update(&m.counts, m.now, false) // at the end of a bucket
			m.fade()
		}
		if got := m.Summary(m.now); got.Known != c.want.Known || got.Calm != c.want.Calm || name != "half" && got != c.want {
			t.Errorf("%s: got %+v want %+v", name, got, c.want)
		}
		for _, other := range []time.Duration{-time.Hour, Lasting + time.Second} { // also by a clock that goes back
			if got := m.Summary(m.now + other); got.Known || got.Calm || got.Overloaded {
				t.Errorf("%s, %v later: got %+v", name, other, got)
			}
		}
	}
}
