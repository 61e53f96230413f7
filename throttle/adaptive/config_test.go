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
			th, err := adaptive.New(tt.config(v))
			th.Throttled()
			if p := th.RejectionProbability(); err != nil || !(p >= 0 && p < 1) {
				t.Errorf("%s %v: got probability %v and error %v want 0 <= P < 1 and nil", tt.field, v, p, err)
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
