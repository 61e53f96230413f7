package browser

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"syscall"
	"testing"
	"time"
)

// program starts one of the examples as it is built for users, and returns the address that it prints first. At the end of
// the test it gets what Ctrl-C sends, and must end well.
func program(t *testing.T, name string, flags ...string) (url string) {
	t.Helper()
	binary := filepath.Join(t.TempDir(), name)
	build := exec.Command("go", "build", "-o", binary, "./"+name)
	build.Dir = filepath.Join("..", "..", "..", "examples")
	build.Env = append(os.Environ(), "GOWORK=off")
	if said, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, said)
	}
	cmd := exec.Command(binary, flags...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	address := regexp.MustCompile(`http://[0-9.:]+`)
	for url == "" && lines.Scan() {
		url = address.FindString(lines.Text())
	}
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		for lines.Scan() { // so that it never waits for us
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGINT)
		late := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
		defer late.Stop()
		<-drained
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s ended with %v", name, err)
		}
	})
	if url == "" {
		t.Fatalf("%s has told no address", name)
	}
	return url
}
