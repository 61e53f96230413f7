package release

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"

	"github.com/spillway-go/spillway/otelthrottle"
	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/connectthrottle"
	"github.com/spillway-go/spillway/throttle/grpcthrottle"
	"github.com/spillway-go/spillway/throttle/redisstore"
)

const (
	spillway   = "github.com/spillway-go/spillway"
	repository = "../../.."
)

const goMod = "module example.com/shop\n\ngo 1.26.0\n"

// core imports the packages of the root module.
const core = `package main

import (
	"context"
	"fmt"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/backoff"
	"github.com/spillway-go/spillway/throttle/breaker"
	"github.com/spillway-go/spillway/throttle/bucket"
	"github.com/spillway-go/spillway/throttle/httpthrottle"
	"github.com/spillway-go/spillway/throttle/sqlstore"
	"github.com/spillway-go/spillway/throttle/statusz"
)

func main() {
	th := throttle.Must(throttle.New(throttle.Config{Name: "recommendations"}))
	_ = breaker.Must(breaker.New(breaker.Config{Name: "charges"}))
	_ = bucket.Must(bucket.New(bucket.Config{Name: "geocoder", Limit: bucket.PerSecond(50)}))
	_ = backoff.Must(backoff.New(backoff.Config{Name: "orders-table"}))
	_, _, _ = httpthrottle.TransportConfig{}, sqlstore.PostgreSQL, statusz.New()
	fmt.Print(th.Do(context.Background(), throttle.High, func(context.Context) error { return nil }), throttle.Version)
}
`

// all imports the packages that require other modules.
const all = `package all

import (
	_ "github.com/spillway-go/spillway/dashboards"
	_ "github.com/spillway-go/spillway/otelthrottle"
	_ "github.com/spillway-go/spillway/otelthrottle/priority"
	_ "github.com/spillway-go/spillway/throttle/connectthrottle"
	_ "github.com/spillway-go/spillway/throttle/grpcthrottle"
	_ "github.com/spillway-go/spillway/throttle/redisstore"
)
`

// nestedModules returns the folders of the modules that users import besides the root.
func nestedModules() []string {
	return []string{"throttle/connectthrottle", "throttle/grpcthrottle", "throttle/redisstore"}
}

// TestUserModule builds a module that requires our modules as a tag would contain them.
func TestUserModule(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles another module with a module cache of its own; make release-check runs it")
	}
	const v = "v" + throttle.Version
	p := proxy{t.TempDir()}
	p.serve(t, repository, spillway, v)
	for _, nested := range nestedModules() {
		p.serve(t, filepath.Join(repository, nested), spillway+"/"+nested, v)
	}
	p.serve(t, filepath.Join(repository, "internal/third_party/faults"), "github.com/deixis/faults", "v1.0.1") // instead of the published module
	s := newUserModule(t, p)

	write(t, s.dir, map[string]string{"go.mod": goMod, "main.go": core})
	s.do(t, "get", spillway+"@"+v)
	if got, want := s.do(t, "run", "."), "<nil>"+throttle.Version; got != want {
		t.Errorf("got %q want %q", got, want)
	}
	for line := range strings.Lines(s.do(t, "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", ".")) {
		pkg := strings.TrimSpace(line)
		if own := strings.HasPrefix(pkg, spillway+"/throttle") || pkg == spillway+"/internal/byname"; pkg != "" && pkg != "example.com/shop" && !own && pkg != "github.com/deixis/faults" {
			t.Errorf("a program that imports the core gets %s too", pkg)
		}
	}
	write(t, s.dir, map[string]string{"all/all.go": all})
	for _, nested := range nestedModules() {
		s.do(t, "get", spillway+"/"+nested+"@"+v)
	}
	s.do(t, "list", "-deps", "./...") // checks that each package and each embedded file exists; the tests of the modules compile them
}

// TestVersions checks that all modules have the same version, because they are released together.
func TestVersions(t *testing.T) {
	for name, got := range map[string]string{
		"otelthrottle": otelthrottle.Version, "connectthrottle": connectthrottle.Version, "grpcthrottle": grpcthrottle.Version,
		"redisstore": redisstore.Version,
	} {
		if got != throttle.Version {
			t.Errorf("%s.Version: got %s want throttle.Version, %s", name, got, throttle.Version)
		}
	}
	for _, nested := range nestedModules() {
		s := userModule{filepath.Join(repository, nested), append(os.Environ(), "GOWORK=off")}
		if got := strings.TrimSpace(s.do(t, "list", "-m", "-f", "{{.Version}}", spillway)); got != "v"+throttle.Version {
			t.Errorf("%s requires %s of Spillway, want v%s", nested, got, throttle.Version)
		}
	}
}

// proxy is a folder that the go command uses as a module proxy.
type proxy struct{ root string }

// serve adds the module in a folder to the proxy.
func (p proxy) serve(t *testing.T, folder, path, version string) {
	t.Helper()
	dir := filepath.Join(p.root, path, "@v")
	mod := throttle.Must(os.ReadFile(filepath.Join(folder, "go.mod")))
	write(t, dir, map[string]string{
		"list":            version + "\n",
		version + ".info": fmt.Sprintf(`{"Version": %q, "Time": "2026-11-21T00:00:00Z"}`, version),
		version + ".mod":  string(mod),
	})
	file := throttle.Must(os.Create(filepath.Join(dir, version+".zip")))
	err := zip.CreateFromDir(file, module.Version{Path: path, Version: version}, folder)
	if err := errors.Join(err, file.Close()); err != nil {
		t.Errorf("%s cannot be a module: %v", path, err)
	}
}

type userModule struct {
	dir string
	env []string
}

func newUserModule(t *testing.T, p proxy) userModule {
	t.Helper()
	cache := strings.TrimSpace(output(t, exec.Command("go", "env", "GOMODCACHE")))
	upstream := strings.TrimSpace(output(t, exec.Command("go", "env", "GOPROXY")))
	s := userModule{dir: t.TempDir()}
	s.env = append(os.Environ(),
		// The module cache of this machine is a proxy too, so that little is downloaded. The module has its
		// own cache, because the cache of this machine must not keep these test versions.
		"GOPROXY=file://"+p.root+",file://"+filepath.Join(cache, "cache", "download")+","+upstream,
		"GOMODCACHE="+filepath.Join(t.TempDir(), "cache"),
		"GONOSUMDB="+spillway+",github.com/deixis", "GOFLAGS=-modcacherw -mod=mod", "GOWORK=off",
	)
	return s
}

// write writes files, by their path below a folder.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		file := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
}

// do runs a go command in the module and returns its output.
func (s userModule) do(t *testing.T, args ...string) string {
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
