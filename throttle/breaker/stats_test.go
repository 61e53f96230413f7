package breaker_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/spillway-go/spillway/throttle/breaker"
)

func TestErrorCounts_MarshalJSON(t *testing.T) {
	text, err := json.Marshal(breaker.Stats{})
	if want := `"Errors":{"conflict":0,"counts":0,"fenced":0,"hook":0,`; err != nil || !strings.Contains(string(text), want) {
		t.Errorf("got %s, %v want %s", text, err, want)
	}
}
