package throttle

import (
	"math"

	"github.com/spillway-go/spillway/throttle/internal/window"
)

// likelihood is a cumulative sum of log likelihood ratios: how much better a high ratio of
// rejections explains the answers than a low one.
type likelihood struct {
	sum, accepted, rejected float64
}

func (l *likelihood) distinguish(low, high float64) {
	l.accepted, l.rejected = math.Log((1-high)/(1-low)), math.Log(high/low)
}

// exceeds reports whether the sum is above a limit, which is larger if the window has many answers.
func (l *likelihood) exceeds(limit float64, sum *window.Counts) bool {
	return l.sum > limit && l.sum > limit+math.Log(answersOf(sum)/fewAnswers)
}

func (l *likelihood) add(c window.Counts) {
	l.sum = max(0, l.sum+l.accepted*float64(c.Accepted)+l.rejected*float64(c.Rejected))
}
