package retry_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/retry"
)

func TestNew_NamesEveryInvalidField(t *testing.T) {
	for field, c := range map[string]retry.Config{
		"Name is missing":         {},
		"Name is \"aaa":           {Name: strings.Repeat("a", 300)},
		"Attempts is -1":          {Name: "x", Attempts: -1},
		"Attempts is 11":          {Name: "x", Attempts: 11},
		"Budget.Share is -1":      {Name: "x", Budget: retry.Budget{Share: -1}},
		"Budget.Share is 2":       {Name: "x", Budget: retry.Budget{Share: 2}},
		"Budget.Share is NaN":     {Name: "x", Budget: retry.Budget{Share: math.NaN()}},
		"Budget.Reserve is 2e+06": {Name: "x", Budget: retry.Budget{Reserve: 2e6}},
		"Budget.Reserve is NaN":   {Name: "x", Budget: retry.Budget{Reserve: math.NaN()}},
		"Budget.Window is 1ms":    {Name: "x", Budget: retry.Budget{Window: time.Millisecond}},
		"Delay.Initial is 1ns":    {Name: "x", Delay: retry.Delay{Initial: 1}},
		"Delay.Initial is 20s":    {Name: "x", Delay: retry.Delay{Initial: 20 * time.Second}},
		"Delay.Longest is 2h":     {Name: "x", Delay: retry.Delay{Longest: 2 * time.Hour}},
		"Delay.Longest is 10ns":   {Name: "x", Delay: retry.Delay{Longest: 10}},
		"Budget.Window is 10ns":   {Name: "x", Budget: retry.Budget{Window: 10}},
		"Delay.Longest is -1s":    {Name: "x", Delay: retry.Delay{Longest: -time.Second}},
		"Delay.Attempt is -1s":    {Name: "x", Delay: retry.Delay{Attempt: -time.Second}},
	} {
		r, err := retry.New(c)
		if r != nil || err == nil || !strings.HasPrefix(err.Error(), "retry: Config."+field) || !strings.Contains(err.Error(), ": want ") {
			t.Errorf("got %v want an error about %s", err, field)
		}
		if err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("got %v want an error about %s only", err, field)
		}
		if invalid := c.Validate(); invalid == nil || err == nil || invalid.Error() != err.Error() {
			t.Errorf("Validate: got %v want %v", invalid, err)
		}
	}
}

func TestNew_Defaults(t *testing.T) {
	th := throttle.Must(throttle.New(throttle.Config{Name: "orders"}))
	r := throttle.Must(retry.New(retry.Config{Throttle: th}))
	if s := r.Stats(); r.Name() != "orders" || s.Name != "orders" || len(s.Calls) != 4 || s.Limit != 3 || s.Left != 3 {
		t.Errorf("got %+v want three attempts, three retries per window", s)
	}
	for _, c := range []retry.Config{{Name: "x", Delay: retry.Delay{Longest: time.Millisecond}}, {Name: "x", Attempts: 1, Budget: retry.Budget{Reserve: -1}}} {
		if err := c.Validate(); err != nil {
			t.Error(err)
		}
	}
}
