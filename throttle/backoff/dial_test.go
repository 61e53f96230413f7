package backoff

import (
	"math/rand/v2"
	"testing"
	"time"
)

// said is what somebody says of a call: by which step of the delay it was let through, and whether it was served.
type said struct {
	generation uint64
	served     bool
}

// retelling is the dial told again, simply: it keeps what was said since the last step up, and counts it anew each time.
type retelling struct {
	c          Config
	delay      time.Duration
	generation uint64
	heard      []said // by this generation
	row        int    // where in it the successes in a row begin
	limit      time.Duration
	dark       int           // throttled without a success between
	back       bool          // from an outage
	came       time.Duration // from where, on that way
}

// hear returns whether it makes a step.
func (m *retelling) hear(s said) bool {
	if s.generation != m.generation {
		return false
	}
	if !s.served {
		if len(m.heard) > 0 {
			m.limit = m.delay
		}
		want := m.c.Up.Next(m.delay)
		if m.back {
			want = max(want, m.came)
		}
		m.back = false
		m.dark++
		want = max(want, m.delay)
		want = max(want, m.c.InitialInterval)
		m.delay = min(want, m.c.MaxInterval)
		m.generation++
		m.heard, m.row = nil, 0
		return true
	}
	m.heard = append(m.heard, s)
	dark := m.dark
	m.dark = 0
	if m.delay == 0 {
		m.row = len(m.heard)
		return false
	}
	by := 1.0
	if len(m.heard)-m.row == m.c.DownMultiplierThreshold {
		by = m.c.DownMultiplier
	}
	if m.c.Mode == Pace && dark >= 8 {
		m.back = true
	}
	if m.delay <= 2*m.limit {
		m.back = false
	}
	if m.back {
		by, m.came = 0.25, m.delay
	}
	if by == 1 {
		return false
	}
	m.row = len(m.heard)
	if m.delay = time.Duration(float64(m.delay) * by); m.delay < m.c.InitialInterval {
		m.delay = 0
	}
	return true
}

func (m *retelling) forget() {
	*m = retelling{c: m.c, generation: m.generation + 1}
}

// TestDialAsRetold plays random sequences with random settings, and looks at what may never be.
func TestDialAsRetold(t *testing.T) {
	random := rand.New(rand.NewPCG(10, 10))
	ups, downs, fast, runs := 0, 0, 0, 400
	if testing.Short() {
		runs = 100
	}
	for range runs {
		c := someConfig(random)
		d, m := dial{config: &c}, retelling{c: c}
		throttles := random.Float64() * 0.6
		for step := range 300 {
			if random.IntN(200) == 0 {
				d.forget()
				m.forget()
			}
			s := said{generation: d.generation, served: random.Float64() >= throttles}
			if random.IntN(8) == 0 {
				s.generation = max(d.generation, 2) + 1 - random.Uint64N(4)
			}
			before := d.interval
			got, want := false, m.hear(s)
			if s.served {
				got = d.succeeded(s.generation)
			} else {
				got = d.throttled(s.generation)
			}
			if got != want || d.interval != m.delay || d.generation != m.generation || d.knee != m.limit {
				t.Fatalf("step %d of %+v, %+v: got %v, %+v want %v, %+v", step, c, s, got, d, want, m)
			}
			if d.interval != 0 && (d.interval < c.InitialInterval || d.interval > c.MaxInterval) {
				t.Fatalf("step %d of %+v: got a delay of %v", step, c, d.interval)
			}
			switch {
			case got && !s.served:
				ups++
			case got && d.interval*3 < before && d.interval > 0:
				fast++
			case got:
				downs++
			}
			demandNoise(t, &d, random)
			throttles = max(0, min(0.9, throttles+random.Float64()*0.1-0.05))
		}
	}
	t.Log(ups, "steps up,", downs, "down,", fast, "of a quarter")
	if min(ups, downs, fast) < runs/4 {
		t.Errorf("got too few of some: want at least %d of each", runs/4)
	}
}

// someConfig draws a good Config.
func someConfig(random *rand.Rand) Config {
	c := Config{
		Name: "x", Mode: Mode(random.IntN(numModes)), InitialInterval: 1 + time.Duration(random.Int64N(int64(time.Second)))/1000*1000 + 1000,
		UpMultiplier: 1.01 + 3*random.Float64(), DownMultiplier: 0.3 + 0.69*random.Float64(), DownMultiplierThreshold: 1 + random.IntN(6),
		RandomizationFactor: random.Float64()*1.2 - 0.2, MaxRandomization: time.Duration(1 + random.Int64N(int64(time.Minute))),
	}
	c.MaxInterval = c.InitialInterval * time.Duration(1+random.IntN(1000))
	c = c.withDefaults()
	c.Up = c.growth()
	return c
}

// demandNoise looks at what is slept: never more than the longest, and the mean is the delay where neither bound is near.
func demandNoise(t *testing.T, d *dial, random *rand.Rand) {
	t.Helper()
	c := d.config
	low, high := d.noisy(0), d.noisy(1)
	if some := d.noisy(random.Float64()); low < 0 || some < low || some > high || high > c.MaxInterval {
		t.Fatalf("delay %v of %+v: got %v, from %v to %v want within 0 and MaxInterval", d.interval, c, some, low, high)
	}
	factor := max(0, c.RandomizationFactor)
	delta := min(factor*float64(d.interval), float64(c.MaxRandomization))
	if got := float64(d.interval - low); got < delta-2 || got > delta+2 {
		t.Fatalf("delay %v of %+v: got at least %v want %v less", d.interval, c, low, time.Duration(delta))
	}
	if want := min(delta, float64(c.MaxInterval-d.interval)); float64(high-d.interval) < want-2 || float64(high-d.interval) > want+2 {
		t.Fatalf("delay %v of %+v: got at most %v want %v more", d.interval, c, high, time.Duration(want))
	}
}
