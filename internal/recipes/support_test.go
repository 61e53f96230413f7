package recipes

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/spillway-go/spillway/throttle"
)

// decided is the Config of a throttle that sheds as soon as the probability is not 0.
func decided(name string) throttle.Config {
	return throttle.Config{Name: name, Rand: func() float64 { return 0 }}
}

// counts are the totals of a throttle, over all priorities.
type counts struct{ accepted, rejected, ignored, shed uint64 }

func countsOf(th *throttle.Throttle) (c counts) {
	for _, p := range th.Stats().Priorities {
		c.accepted += p.Ended.Outcome(throttle.Accepted)
		c.rejected += p.Ended.Outcome(throttle.Rejected)
		c.ignored += p.Ended.Outcome(throttle.Ignored)
		c.shed += p.Shed.Sum()
	}
	return c
}

// answers are the answers of a server by their kind. Only a shed request gets Retry-After.
type answers struct{ ok, refused, shed uint64 }

// call sends n requests to a handler on a real server.
func call(t *testing.T, h http.Handler, path string, n int) (a answers) {
	t.Helper()
	server := httptest.NewServer(h)
	defer server.Close()
	for range n {
		response, err := server.Client().Get(server.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		switch {
		case response.StatusCode == http.StatusOK:
			a.ok++
		case response.StatusCode == http.StatusServiceUnavailable && response.Header.Get("Retry-After") != "":
			a.shed++
		case response.StatusCode == http.StatusServiceUnavailable:
			a.refused++
		default:
			t.Fatalf("GET %s: got %s", path, response.Status)
		}
	}
	return a
}

// sheds checks that a throttle counted what its callers got, and that it shed.
func sheds(t *testing.T, th *throttle.Throttle, got answers, handled uint64) {
	t.Helper()
	c := countsOf(th)
	if want := (answers{c.accepted, c.rejected, c.shed}); got != want || c.ignored != 0 {
		t.Errorf("answers: got %+v, the throttle counted %+v", got, c)
	}
	if got.shed == 0 || got.refused == 0 || handled != got.refused {
		t.Errorf("answers: got %+v for %d handled requests want all of these refused, and others shed", got, handled)
	}
}
