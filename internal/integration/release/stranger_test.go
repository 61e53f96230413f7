package release

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// stranger is somebody's module.
type stranger struct {
	dir string
	env []string
}

func newStranger(t *testing.T, p proxy) stranger {
	t.Helper()
	cache := strings.TrimSpace(output(t, exec.Command("go", "env", "GOMODCACHE")))
	upstream := strings.TrimSpace(output(t, exec.Command("go", "env", "GOPROXY")))
	s := stranger{dir: t.TempDir()}
	s.env = append(os.Environ(),
		// What is on this machine is a proxy too, so that little is fetched. A cache of its own, because ours must not keep what is served here.
		"GOPROXY=file://"+p.root+",file://"+filepath.Join(cache, "cache", "download")+","+upstream,
		"GOMODCACHE="+filepath.Join(t.TempDir(), "cache"),
		"GONOSUMDB="+spillway+",github.com/deixis", "GOFLAGS=-modcacherw -mod=mod", "GOWORK=off",
	)
	return s
}

// write puts files into the module, all of them below its root.
func (s stranger) write(t *testing.T, files map[string]string) {
	t.Helper()
	for name, text := range files {
		file := filepath.Join(s.dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// do runs a go command in the module, and returns what it printed.
func (s stranger) do(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command("go", args...)
	cmd.Dir, cmd.Env = s.dir, s.env
	return output(t, cmd)
}

func output(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	text, err := cmd.Output()
	if err != nil {
		said := ""
		if failed, ok := errors.AsType[*exec.ExitError](err); ok {
			said = string(failed.Stderr)
		}
		t.Fatalf("%v: %v\n%s%s", cmd, err, text, said)
	}
	return string(text)
}
