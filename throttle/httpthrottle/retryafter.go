package httpthrottle

import (
	"net/http"
	"strings"
	"time"

	"github.com/spillway-go/spillway/throttle/protocol"
)

// retryAfter returns the delay in a header, and whether the header has a valid one. A date is
// relative to the sender's clock if the header has a Date, otherwise to now.
func retryAfter(h http.Header, now time.Time) (time.Duration, bool) {
	text := strings.TrimSpace(h.Get("Retry-After"))
	if text == "" {
		return 0, false
	}
	if seconds, ok := parseSeconds(text); ok {
		return min(seconds, protocol.MaxDelay), true
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0, false
	}
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		now = date
	}
	return max(0, min(at.Sub(now), protocol.MaxDelay)), true
}

func parseSeconds(text string) (time.Duration, bool) {
	var d time.Duration
	for _, c := range text {
		if c < '0' || c > '9' {
			return 0, false
		}
		d = min(10*d+time.Duration(c-'0')*time.Second, protocol.MaxDelay)
	}
	return d, true
}

// wholeSeconds rounds a delay up to seconds, at least 1. With 0 the caller would return at once.
func wholeSeconds(d time.Duration) int {
	return int(max(0, d-1)/time.Second) + 1
}
