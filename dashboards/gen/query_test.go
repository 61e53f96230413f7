package main

import "testing"

// TestHistograms checks that queries about durations fall through to native histograms.
func TestHistograms(t *testing.T) {
	for _, tt := range []struct{ got, want string }{
		{
			quantileOf(0.5, `x_bucket{a="b"}`),
			`histogram_quantile(0.5, sum by (le) (rate(x_bucket{a="b"}[$__rate_interval])))` +
				` or histogram_quantile(0.5, sum(rate(x{a="b"}[$__rate_interval])))`,
		},
		{
			quantileOf(0.99, `x_bucket{}`, "job"),
			`histogram_quantile(0.99, sum by (le, job) (rate(x_bucket{}[$__rate_interval])))` +
				` or histogram_quantile(0.99, sum by (job) (rate(x{}[$__rate_interval])))`,
		},
		{
			countOf(`x_count{}`, "job"),
			`(sum by (job) (rate(x_count{}[$__rate_interval])) or sum by (job) (histogram_count(rate(x{}[$__rate_interval]))))`,
		},
	} {
		if tt.got != tt.want {
			t.Errorf("got  %s\nwant %s", tt.got, tt.want)
		}
	}
}
