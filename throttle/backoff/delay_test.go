package backoff

import (
	"math/rand/v2"
	"testing"
	"time"
)

// result is the result of a call, and the generation of the delay that it waited for.
type result struct {
	generation uint64
	served     bool
}

// model is a simple version of delay: it keeps all results since the last step up, and counts them anew each time.
type model struct {
	c          Config
	delay      time.Duration
	generation uint64
	results    []result // of this generation
	row        int      // index in results where the successes in a row begin
	limit      time.Duration
	upsInRow   int           // steps up since the last success
	recovering bool          // from an outage
	previous   time.Duration // delay before the last step of the recovery
}

func (m *model) record(s result) bool {
	if s.generation != m.generation {
		return false
	}
	if !s.served {
		if len(m.results) > 0 {
			m.limit = m.delay
		}
		want := m.c.next(m.delay)
		if m.recovering {
			want = max(want, m.previous)
		}
		m.recovering = false
		m.upsInRow++
		want = max(want, m.delay)
		want = max(want, m.c.InitialInterval)
		m.delay = min(want, m.c.MaxInterval)
		m.generation++
		m.results, m.row = nil, 0
		return true
	}
	m.results = append(m.results, s)
	upsInRow := m.upsInRow
	m.upsInRow = 0
	if m.delay == 0 {
		m.row = len(m.results)
		return false
	}
	by := 1.0
	if len(m.results)-m.row == m.c.DownMultiplierThreshold {
		by = m.c.DownMultiplier
	}
	if m.c.Mode == Pace && upsInRow >= 8 {
		m.recovering = true
	}
	if m.delay <= 2*m.limit {
		m.recovering = false
	}
	if m.recovering {
		by, m.previous = 0.25, m.delay
	}
	if by == 1 {
		return false
	}
	m.row = len(m.results)
	if m.delay = time.Duration(float64(m.delay) * by); m.delay < m.c.InitialInterval {
		m.delay = 0
	}
	return true
}

func (m *model) reset() {
	*m = model{c: m.c, generation: m.generation + 1}
}

func TestDelayEqualsModel(t *testing.T) {
	random := rand.New(rand.NewPCG(10, 10))
	ups, downs, fast, runs := 0, 0, 0, 400
	if testing.Short() {
		runs = 100
	}
	for range runs {
		c := someConfig(random)
		d, m := delay{config: &c}, model{c: c}
		throttles := random.Float64() * 0.6
		for step := range 300 {
			if random.IntN(200) == 0 {
				d.reset()
				m.reset()
			}
			s := result{generation: d.generation, served: random.Float64() >= throttles}
			if random.IntN(8) == 0 {
				s.generation = max(d.generation, 2) + 1 - random.Uint64N(4)
			}
			before, steps := d.interval, d.steps
			want := m.record(s)
			if s.served {
				d.succeeded(s.generation)
			} else {
				d.throttled(s.generation)
			}
			got := d.steps > steps
			if got != want || d.interval != m.delay || d.generation != m.generation || d.atLimit != m.limit {
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

func someConfig(random *rand.Rand) Config {
	c := Config{
		Name: "x", Mode: Mode(random.IntN(numModes)), InitialInterval: 1 + time.Duration(random.Int64N(int64(time.Second)))/1000*1000 + 1000,
		UpMultiplier: 1.01 + 3*random.Float64(), DownMultiplier: 0.3 + 0.69*random.Float64(), DownMultiplierThreshold: 1 + random.IntN(6),
		RandomizationFactor: random.Float64()*1.2 - 0.2, MaxRandomization: time.Duration(1 + random.Int64N(int64(time.Minute))),
	}
	c.MaxInterval = c.InitialInterval * time.Duration(1+random.IntN(1000))
	if random.IntN(4) == 0 {
		c.UpInterval = 1 + time.Duration(random.Int64N(int64(time.Second)))
	}
	return c.withDefaults()
}

// TestDelayGrowsByTinyFactor wants a longer delay even if its UpMultiplier adds less than a nanosecond.
func TestDelayGrowsByTinyFactor(t *testing.T) {
	c := Config{UpMultiplier: 1 + 1e-9}.withDefaults()
	d := delay{config: &c}
	for range 3 {
		d.throttled(d.generation)
	}
	if want := c.InitialInterval + 2; d.interval != want {
		t.Errorf("got %v want %v", d.interval, want)
	}
}

// demandNoise checks the range of a randomized wait: around the delay, and never longer than MaxInterval.
func demandNoise(t *testing.T, d *delay, random *rand.Rand) {
	t.Helper()
	c := d.config
	low, high := d.randomized(0), d.randomized(1)
	if some := d.randomized(random.Float64()); low < 0 || some < low || some > high || high > c.MaxInterval {
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
