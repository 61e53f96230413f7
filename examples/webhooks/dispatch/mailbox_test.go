package dispatch

import (
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker"
)

func TestMailboxHeedsEachLetterOnce(t *testing.T) {
	m := NewMailbox()
	one, other := breaker.Key{ID: "one"}, breaker.Key{ID: "other"}
	at := time.Unix(1, 0)
	for _, e := range []breaker.Event{
		{Key: one, To: breaker.Open, Generation: 1, At: at},
		{Key: one, To: breaker.Disabled, Generation: 2, At: at},
		{Key: one, To: breaker.Disabled, Generation: 2, At: at}, // again, from another leader
		{Key: other, To: breaker.Disabled, Generation: 2, At: at},
	} {
		if err := m.Notify(t.Context(), e); err != nil {
			t.Errorf("Notify: got error %v want nil", err)
		}
	}
	if got := [3]int{m.Letters(one), m.Letters(other), m.Again()}; got != [3]int{1, 1, 1} {
		t.Errorf("letters of one, of the other, again: got %v want 1 each", got)
	}
}
