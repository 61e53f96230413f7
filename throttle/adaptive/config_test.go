package adaptive_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle/adaptive"
)

func TestNew_validates(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	seconds := func(s float64) adaptive.Config {
		return adaptive.Config{Duration: time.Duration(s * float64(time.Second))}
	}
	bins := func(n float64) adaptive.Config { return adaptive.Config{Bins: int(n)} }
	ratio := func(r float64) adaptive.Config { return adaptive.Config{RatioForAccepts: r} }
	padding := func(p float64) adaptive.Config { return adaptive.Config{RequestsPadding: p} }
	for _, tt := range []struct {
		field, want string
		config      func(float64) adaptive.Config
		good, bad   []float64
	}{
		{"Duration", "1s to 1h", seconds, []float64{0, 1, 3600}, []float64{-1, 0.999, 3600.001}},
		{"Bins", "10 to 1000", bins, []float64{0, 10, 1000}, []float64{-100, 9, 1001}},
		{"RatioForAccepts", "1 to 1e6", ratio, []float64{math.Copysign(0, -1), 1, 1e6}, []float64{-2, 0.99, 1e7, nan, inf}},
		{
			"RequestsPadding", "more than 0, at most 1e6", padding,
			[]float64{math.Copysign(0, -1), math.SmallestNonzeroFloat64, 1e6},
			[]float64{-8, 1e7, nan, -inf},
		},
	} {
		for _, v := range tt.good {
			if th, err := adaptive.New(tt.config(v)); th == nil || err != nil {
				t.Errorf("%s %v: got %v and error %v want a throttler", tt.field, v, th, err)
			}
		}
		for _, v := range tt.bad {
			th, err := adaptive.New(tt.config(v))
			text, begin, end := fmt.Sprint(err), "adaptive: Config."+tt.field+" is ", ": want "+tt.want
			if th != nil || !strings.HasPrefix(text, begin) || !strings.HasSuffix(text, end) {
				t.Errorf("%s %v: got %v and error %v want one with %s", tt.field, v, th, err, tt.want)
			}
		}
	}
	_, err := adaptive.New(adaptive.Config{Duration: -1, Bins: -1, RatioForAccepts: -1, RequestsPadding: -1})
	if lines := strings.Count(fmt.Sprint(err), "\n") + 1; lines != 4 {
		t.Errorf("every field is invalid: got %v want four lines", err)
	}
}

// FuzzConfig: New returns an error, or a throttler that works.
func FuzzConfig(f *testing.F) {
	f.Add(int64(0), 0, 0.0, 0.0)
	f.Add(int64(30*time.Second), 100, 2.0, 8.0)
	f.Add(int64(time.Second), 1000, 1.0, math.SmallestNonzeroFloat64)
	f.Add(int64(time.Hour), 2, 1e6, 1e6)
	f.Add(int64(time.Second+1), 3, 1.5, 1e-300)
	f.Add(int64(-1), -1, math.NaN(), math.Inf(1))
	f.Add(int64(math.MaxInt64), math.MaxInt, math.Inf(-1), math.NaN())
	f.Fuzz(func(t *testing.T, duration int64, bins int, ratio, padding float64) {
		var now time.Time
		c := adaptive.Config{
			Duration: time.Duration(duration), Bins: bins, RatioForAccepts: ratio, RequestsPadding: padding,
			Now: func() time.Time { return now },
		}
		th, err := adaptive.New(c)
		if err != nil {
			if th != nil {
				t.Fatal("both a throttler and an error")
			}
			return
		}
		for i := range 200 {
			now = now.Add(time.Duration(i) * c.Duration / 2000)
			th.RegisterBackendResponse(i%4 > 0)
			th.ShouldThrottle()
			s := th.Stats()
			if !(s.Probability >= 0 && s.Probability < 1) {
				t.Fatalf("probability %v with %+v", s.Probability, c)
			}
			if s.Total.Accepted+s.Total.Rejected != uint64(i+1) || s.Window.Requests() == 0 {
				t.Fatalf("%+v after %d answers with %+v", s, i+1, c)
			}
		}
	})
}
