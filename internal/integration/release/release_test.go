package release

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spillway-go/spillway/otelthrottle"
	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/grpcthrottle"
	"github.com/spillway-go/spillway/throttle/redisstore"
)

const (
	spillway   = "github.com/spillway-go/spillway"
	repository = "../../.."
)

const goMod = "module example.com/shop\n\ngo 1.26.0\n"

// core is what everybody imports.
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

// all is what brings in somebody else's modules.
const all = `package all

import (
	_ "github.com/spillway-go/spillway/dashboards"
	_ "github.com/spillway-go/spillway/otelthrottle"
	_ "github.com/spillway-go/spillway/otelthrottle/priority"
	_ "github.com/spillway-go/spillway/throttle/grpcthrottle"
	_ "github.com/spillway-go/spillway/throttle/redisstore"
)
`

// TestAStrangersModule requires what a tag would hold.
func TestAStrangersModule(t *testing.T) {
	const v = "v" + throttle.Version
	p := proxy{t.TempDir()}
	p.serve(t, repository, spillway, v)
	for _, nested := range []string{"throttle/grpcthrottle", "throttle/redisstore"} {
		p.serve(t, filepath.Join(repository, nested), spillway+"/"+nested, v)
	}
	p.serve(t, filepath.Join(repository, "internal/third_party/faults"), "github.com/deixis/faults", "v1.0.1") // in place of the published one
	s := newStranger(t, p)

	s.write(t, map[string]string{"go.mod": goMod, "main.go": core})
	s.do(t, "get", spillway+"@"+v)
	if got, want := s.do(t, "run", "."), "<nil>"+throttle.Version; got != want {
		t.Errorf("got %q want %q", got, want)
	}
	for line := range strings.Lines(s.do(t, "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", ".")) {
		if pkg := strings.TrimSpace(line); pkg != "" && pkg != "example.com/shop" && !strings.HasPrefix(pkg, spillway+"/throttle") && pkg != "github.com/deixis/faults" {
			t.Errorf("who imports the core gets %s too", pkg)
		}
	}
	s.write(t, map[string]string{"all/all.go": all})
	s.do(t, "get", spillway+"/throttle/grpcthrottle@"+v, spillway+"/throttle/redisstore@"+v)
	s.do(t, "list", "-deps", "./...") // each package and each embedded file is there; that they compile is for the modules' own tests
}

// TestVersionsAgree: all modules are released together.
func TestVersionsAgree(t *testing.T) {
	for name, got := range map[string]string{
		"otelthrottle": otelthrottle.Version, "grpcthrottle": grpcthrottle.Version, "redisstore": redisstore.Version,
	} {
		if got != throttle.Version {
			t.Errorf("%s.Version: got %s want throttle.Version, %s", name, got, throttle.Version)
		}
	}
	for _, nested := range []string{"throttle/grpcthrottle", "throttle/redisstore"} {
		s := stranger{filepath.Join(repository, nested), append(os.Environ(), "GOWORK=off")}
		if got := strings.TrimSpace(s.do(t, "list", "-m", "-f", "{{.Version}}", spillway)); got != "v"+throttle.Version {
			t.Errorf("%s requires %s of Spillway, want v%s", nested, got, throttle.Version)
		}
	}
}
