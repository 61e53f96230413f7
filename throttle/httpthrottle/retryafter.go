package httpthrottle

import (
	"net/http"
	"strings"
	"time"
)

// longestDelay bounds what a Retry-After can ask for, lest a mistake in it stops a client for days.
const longestDelay = time.Hour

// retryAfter returns the delay that a header asks for, and whether it asks for one intelligibly. A date is understood by the
// sender's own clock, if the header tells the time.
func retryAfter(h http.Header, now time.Time) (time.Duration, bool) {
	text := strings.TrimSpace(h.Get("Retry-After"))
	if text == "" {
		return 0, false
	}
	if seconds, ok := digits(text); ok {
		return min(seconds, longestDelay), true
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0, false
	}
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		now = date
	}
	return max(0, min(at.Sub(now), longestDelay)), true
}

// digits reads a number of seconds: digits only, and however many, since no number is too large for them.
func digits(text string) (time.Duration, bool) {
	var d time.Duration
	for _, c := range text {
		if c < '0' || c > '9' {
			return 0, false
		}
		d = min(10*d+time.Duration(c-'0')*time.Second, longestDelay)
	}
	return d, true
}

// wholeSeconds rounds a delay up to seconds, of which Retry-After has at least one: none would say that the caller may come back at once.
func wholeSeconds(d time.Duration) int {
	return int(max(0, d-1)/time.Second) + 1
}
