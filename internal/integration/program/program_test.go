package program

import (
	"errors"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
)

// asServer makes this test's binary one of the servers that it tests.
const asServer = "SPILLWAY_TEST_SERVER"

func TestMain(m *testing.M) {
	if os.Getenv(asServer) != "" {
		os.Exit(listen(os.Args[1]))
	}
	os.Exit(m.Run())
}

// listen is a server that says what real ones say.
func listen(address string) (code int) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		println(err.Error())
		return 1
	}
	println("listening on http://" + listener.Addr().String() + "/ for you")
	err = http.Serve(listener, http.NotFoundHandler())
	println(err.Error())
	return 2
}

func flags(address string) []string { return []string{address} }

// TestATakenPortIsNoFailure lets somebody else take the port between the moment when it was free and the server's start.
func TestATakenPortIsNoFailure(t *testing.T) {
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
	s := serve(t, Find(t, "prometheus", "prometheus"), "/-/ready", func(address string) []string {
		return []string{"--config.file=" + config, "--storage.tsdb.path=" + t.TempDir(), "--web.listen-address=" + address}
	}, func(testing.TB) string {
		if offers++; offers <= 2 {
			return taken.Addr().String()
		}
		return freeAddress(t)
	})
	if offers < 3 || s.Address == taken.Addr().String() {
		t.Errorf("address: got %s of %d offers, want the third", s.Address, offers)
	}
}

// TestAddressIsReadFromWhatIsSaid starts this binary, which is no server that ends well: it knows no Ctrl-C.
func TestAddressIsReadFromWhatIsSaid(t *testing.T) {
	t.Setenv(asServer, "yes")
	p := Start(t, os.Args[0], flags("127.0.0.1:0")...)
	got := p.await(func(said string) string {
		_, after, _ := strings.Cut(said, "listening on ")
		address, _, ok := strings.Cut(after, " for you")
		if !ok {
			return ""
		}
		return address
	})
	response, err := http.Get(got)
	if err != nil {
		t.Fatalf("%s: got error %v want none", got, err)
	}
	_ = response.Body.Close()
	if err := p.leave(); err == nil || !strings.Contains(err.Error(), "interrupt") {
		t.Errorf("leave: got error %v want one that tells of the interrupt", err)
	}
	p.given = true
}

// TestAnEarlyEndIsNoticed starts a server that cannot listen.
func TestAnEarlyEndIsNoticed(t *testing.T) {
	t.Setenv(asServer, "yes")
	p := Start(t, os.Args[0], flags("256.0.0.1:0")...)
	<-p.ended
	if err := p.leave(); err == nil || !strings.Contains(err.Error(), "before it was asked") {
		t.Errorf("leave: got error %v want one that says it was too early", err)
	}
	if p.Said() == "" || errors.Is(p.err, nil) {
		t.Errorf("got %q and error %v want what is wrong", p.Said(), p.err)
	}
	p.given = true
}

func TestAJournalKeepsTheEnd(t *testing.T) {
	j := newJournal()
	_, more := j.read()
	if _, err := j.Write([]byte(strings.Repeat("a", enough) + "the end")); err != nil {
		t.Fatal(err)
	}
	<-more
	if got := j.String(); len(got) != enough || !strings.HasSuffix(got, "athe end") {
		t.Errorf("got %d bytes that end with %q want %d, and the end", len(got), got[len(got)-10:], enough)
	}
}

func TestFileIsInTheRepository(t *testing.T) {
	if _, err := os.Stat(File(t, "internal/integration/program/program_test.go")); err != nil {
		t.Error(err)
	}
}
