package page

import "testing"

func TestSlowClientsTimeOut(t *testing.T) {
	if s := NewServer(nil); s.ReadHeaderTimeout <= 0 || s.WriteTimeout <= 0 || s.IdleTimeout <= 0 {
		t.Errorf("got %v to read a header, %v to write, %v idle want all of them bounded", s.ReadHeaderTimeout, s.WriteTimeout, s.IdleTimeout)
	}
}
