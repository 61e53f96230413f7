package retry_test

import (
	"testing"

	"github.com/spillway-go/spillway/throttle/retry"
)

func TestReason_Words(t *testing.T) {
	for r := range (retry.Denials{}).All() {
		word, err := r.MarshalText()
		var back retry.Reason
		if err != nil || back.UnmarshalText(word) != nil || back != r {
			t.Errorf("%v: got %q, %v, %v", r, word, back, err)
		}
	}
	if _, err := (retry.ReasonOff + 1).MarshalText(); err == nil || (retry.Stats{}).Denied.Count(retry.ReasonOff+1) != 0 {
		t.Error("a reason that is not defined has a word or a number")
	}
}
