package program

import (
	"net"
	"os"
	"strings"
	"testing"
)

// TestServe_PortTaken has another listener take the port before the server starts.
func TestServe_PortTaken(t *testing.T) {
	Find(t, "prometheus", "prometheus")
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	offers := 0
	config := t.TempDir() + "/prometheus.yml"
	if err := os.WriteFile(config, []byte("global: {}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	s := Serve(t, Find(t, "prometheus", "prometheus"), "/-/ready", func(address string) []string {
		if offers++; offers <= 2 {
			address = taken.Addr().String()
		}
		return []string{"--config.file=" + config, "--storage.tsdb.path=" + t.TempDir(), "--web.listen-address=" + address}
	})
	if offers != 3 {
		t.Errorf("address: got %s at offer %d want the third", s.Address, offers)
	}
}

// TestProcess_EarlyEnd starts a program that ends with an error at once.
func TestProcess_EarlyEnd(t *testing.T) {
	p := Start(t, Find(t, "coreutils", "ls"), "/no such file")
	<-p.ended
	if err := p.stop(); err == nil || !strings.Contains(err.Error(), "before it was interrupted") || p.Output() == "" {
		t.Errorf("stop: got error %v and output %q want errEarly and an error message", err, p.Output())
	}
	p.mayEnd = true
}
