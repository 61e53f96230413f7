package retry_test

import (
	"testing"

	"github.com/spillway-go/spillway/throttle/retry"
)

func TestFromContext(t *testing.T) {
	if got := retry.FromContext(t.Context()); got != (retry.Attempt{Number: 1}) {
		t.Errorf("got %+v want a first attempt", got)
	}
	want := retry.Attempt{Number: 3, Previous: t.Context()}
	if got := retry.FromContext(retry.WithAttempt(t.Context(), want)); got != want {
		t.Errorf("got %+v want %+v", got, want)
	}
}
