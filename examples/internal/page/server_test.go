package page

import (
	"strings"
	"testing"

	"github.com/spillway-go/spillway/throttle"
)

func TestListen(t *testing.T) {
	s := throttle.Must(Listen("127.0.0.1:0", "-listen"))
	address := strings.TrimPrefix(s.URL, "http://")
	if _, err := Listen(address, "-listen"); err == nil || !strings.Contains(err.Error(), "cannot listen on "+address) || !strings.Contains(err.Error(), "with -listen") {
		t.Errorf("%s again: got error %v want one with the address and the flag", address, err)
	}
	everywhere, err := Listen(":0", "-listen")
	if err != nil || !strings.HasPrefix(everywhere.URL, "http://localhost:") {
		t.Errorf("got %+v, error %v want a URL for this machine", everywhere, err)
	}
	if err, err2 := s.Close(), everywhere.Close(); err != nil || err2 != nil {
		t.Errorf("Close: got errors %v, %v want none", err, err2)
	}
}
