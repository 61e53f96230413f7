package throttle

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/spillway-go/spillway/throttle/internal/decision"
	"github.com/spillway-go/spillway/throttle/internal/window"
)

// alarmed is an alert that forgives nothing.
var alarmed = &stance{alert: RatioAlert}

func tieredAll(span, recent []window.Counts, s *stance, k, target, padding float64) []estimate {
	estimates := make([]estimate, len(span))
	tiered(&window.Reading{Span: span, Recent: recent}, s, &terms{k: k, target: target, padding: padding}, estimates)
	return estimates
}

// TestTiered_spares: while tenants below their share are spared, a backend that says that it is full gets fewer calls.
func TestTiered_spares(t *testing.T) {
	of := func(full uint64, spares bool) float64 {
		span := []window.Counts{{}, {Accepted: 100, Rejected: 5, Full: full, Shed: 100}}
		estimates := make([]estimate, 2)
		tiered(&window.Reading{Span: span, Recent: span}, alarmed, &terms{k: 2, target: 0.1, padding: 10, spares: spares}, estimates)
		return estimates[1].probability
	}
	if of(5, true) <= of(5, false) || of(0, true) != of(0, false) {
		t.Errorf("full: got %v while tenants are spared and %v otherwise; not full: %v and %v", of(5, true), of(5, false), of(0, true), of(0, false))
	}
}

func TestUnforgiven(t *testing.T) {
	for _, c := range []struct {
		background, want float64
		tiers            []window.Counts
	}{
		{0, 1, []window.Counts{tier(5, 5, 0)}},
		{0.1, 0.5, []window.Counts{tier(50, 20, 900), tier(30, 0, 0)}},
		{0.2, 0, []window.Counts{tier(80, 20, 0)}},
		{0.3, 0, []window.Counts{tier(80, 20, 0)}},
		{0.3, 1, []window.Counts{tier(80, 0, 7)}},
		{0.3, 0.75, []window.Counts{{Accepted: 80, Rejected: 20, Full: 15}}},
		{0.1, 1, []window.Counts{{Accepted: 80, Rejected: 20, Full: 20}}},
	} {
		wantNear(t, fmt.Sprint(c), unforgiven(c.tiers, c.background), c.want)
	}
}

// byTheBook writes the design's formulas out, one after the other.
func byTheBook(span, recent []window.Counts, s *stance, k, tau, pad float64) []float64 {
	n, share := len(span), 5.0
	phi := func(of []window.Counts) float64 {
		sum := window.Sum(of)
		if !s.inAlert() || sum.Rejected == 0 {
			return 0
		}
		return min(1, s.background*float64(sum.Accepted+sum.Rejected)/float64(sum.Rejected))
	}
	if !s.inAlert() {
		recent, share = span, 1
	}
	forgiven, forgivenRecently := phi(span), phi(recent)
	rho, result := make([]float64, n), make([]float64, n)
	var all, allRecent float64
	for i, c := range span {
		rho[i] = (float64(c.Rejected) + 0.1) / (float64(c.Accepted) + float64(c.Rejected) + 1)
		all += float64(c.Accepted) + forgiven*float64(c.Rejected)
		allRecent += float64(recent[i].Accepted) + forgivenRecently*float64(recent[i].Rejected)
	}
	g := func(i, p int) float64 { return math.Pow(min(1, 1.25*rho[p]/rho[i]), 2) }
	req := func(c window.Counts) float64 { return float64(c.Accepted) + float64(c.Rejected) + float64(c.Shed) }
	// The supply: change times share, as in the comments of pool.
	asked, wanted := req(window.Sum(span)), req(window.Sum(recent))
	supply := func(r float64) float64 {
		if !s.inAlert() {
			return k * allRecent
		}
		counted := min((1-forgiven)*r, share*((1-forgivenRecently)*float64(window.Sum(recent).Rejected)+1))
		change := 1 + max(k-1, 0.2)*(1-counted/(1+tau*all))
		if change < 1 {
			change = max(0.9, 1-0.05*(counted/(1+tau*all)-1))
		}
		if 5*wanted < 0.6*asked {
			return change * allRecent
		}
		return change * math.Pow(allRecent, 0.5) * math.Pow(all/max(1, asked)*wanted, 0.4) * math.Pow(0.2*wanted, 0.1)
	}
	top := -1
	for p := range span {
		if top < 0 {
			if req(span[p]) > 0 {
				top = p
				result[p] = max(0, (req(span[p])-k*float64(span[p].Accepted))/(req(span[p])+pad))
			}
			if top == p && s.inAlert() {
				excess := max(0, req(recent[p])-supply(float64(span[p].Rejected)))
				alone := min(1, max(0, 2*(req(span[p])/max(1, all)-1.25)))
				result[p] = max(result[p], alone*excess/(req(recent[p])+pad/share))
			}
			continue
		}
		if s.open {
			continue
		}
		r, want, sent, least := float64(span[p].Rejected), req(recent[p]), 0.0, 0.0
		for i := range p {
			r += g(i, p) * float64(span[i].Rejected)
			rejected := float64(recent[i].Rejected)
			want += float64(recent[i].Accepted) + forgivenRecently*rejected + g(i, p)*((1-forgivenRecently)*rejected+float64(recent[i].Shed))
			sent += g(i, p) * req(recent[i]) * (1 - result[i])
			if s.inAlert() {
				least = max(least, g(i, p)*result[i])
			}
		}
		probe := max(pad/share/64, pad/share-sent)
		result[p] = max(least, min(req(recent[p]), max(0, want-supply(r)))/(req(recent[p])+probe))
	}
	return result
}

// anyHistory makes up what a window holds, and which part of it is recent.
func anyHistory(dice *rand.Rand) (span, recent []window.Counts) {
	span = anyTiers(dice)
	recent = make([]window.Counts, len(span))
	part := func(n uint64) uint64 {
		if dice.IntN(4) == 0 {
			return n * dice.Uint64N(2)
		}
		return dice.Uint64N(n + 1)
	}
	for i, c := range span {
		recent[i] = tier(part(c.Accepted), part(c.Rejected), part(c.Shed))
	}
	return span, recent
}

func anyStance(dice *rand.Rand) *stance {
	return [...]*stance{alarmed, {alert: GrowthAlert, background: dice.Float64() / 2}, {}, {open: true}}[dice.IntN(4)]
}

func TestTieredProperties(t *testing.T) {
	dice := rand.New(rand.NewPCG(1, 2))
	shedding := 0
	for range sized(20_000, 4000) {
		span, recent := anyHistory(dice)
		k, tau, pad := 1+10*dice.Float64(), 0.01+0.49*dice.Float64(), 1+1000*dice.Float64()
		s := anyStance(dice)
		book := byTheBook(span, recent, s, k, tau, pad)
		estimates := tieredAll(span, recent, s, k, tau, pad)
		for p, v := range estimates {
			if !(v.probability >= 0 && v.probability < 1) {
				t.Fatalf("%v, recent %v: tier %d has probability %v", span, recent, p, v.probability)
			}
			if math.Abs(v.probability-min(book[p], decision.Largest)) > 1e-9 {
				t.Fatalf("%v, recent %v: tier %d: got %v, want the design's %v", span, recent, p, v.probability, book[p])
			}
			if v.probability > 0 {
				shedding++
			}
		}
	}
	if shedding == 0 {
		t.Error("nothing was ever shed")
	}
}

// TestPool_usualShare takes the share that is remembered, unless that of the window differs by more than chance.
func TestPool_usualShare(t *testing.T) {
	known := []window.Counts{tier(100, 100, 200)}
	for accepted, want := range map[float64]float64{25: 0.25, 38: 0.25, 12: 0.25, 45: 0.45, 5: 0.05} {
		o := pool{known: known, counted: 1, accepted: accepted, asked: 100}
		wantNear(t, fmt.Sprint("accepted of 100 calls of the window: ", accepted), o.usualShare(), want)
	}
}
