package soak

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
	"testing"

	"github.com/spillway-go/spillway/internal/integration/program"
)

// child is a running example.
type child struct {
	*program.Process

	name    string
	flags   []string
	symptom symptom
	url     string

	mu       sync.Mutex
	last     scrape
	scrapes  int
	samples  []sample
	problems []string
}

// examples returns the examples with their flags, and with the counter that shows the effect of the
// disruption. Webhooks has few endpoints, because a machine that is too slow for many makes healthy
// endpoints look dead.
func examples() []*child {
	return []*child{
		{name: "storefront", flags: []string{"-listen", "127.0.0.1:0"}, symptom: symptom{"throttle_calls_total", "throttle_decision", "shed"}},
		{
			name: "webhooks", flags: []string{"-metrics", "127.0.0.1:0", "-duration", "0", "-endpoints", "40"},
			symptom: symptom{"throttle_breaker_transitions_total", "throttle_breaker_state", "open"},
		},
		{
			name: "batch", flags: []string{"-metrics", "127.0.0.1:0", "-duration", "0"},
			symptom: symptom{"throttle_backoff_calls_total", "throttle_backoff_outcome", "throttled"},
		},
	}
}

// build builds the examples in the workspace, and returns their folder.
func build(t *testing.T, children []*child) (folder string) {
	t.Helper()
	folder = t.TempDir()
	c := exec.CommandContext(t.Context(), "go", "build", "-race="+strconv.FormatBool(*detect), "-o", folder+string(filepath.Separator),
		"-gcflags=modernc.org/...=-race=false") // SQLite would be ten times slower
	for _, child := range children {
		c.Args = append(c.Args, "github.com/spillway-go/spillway/examples/"+child.name)
	}
	c.Env = append(os.Environ(), "GOWORK=", "CGO_ENABLED=1")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return folder
}

// start starts the example. Package program ends it after the test, and checks that it ends well.
func (c *child) start(t *testing.T, folder string) {
	t.Helper()
	t.Cleanup(func() { // after its end
		if c.Process != nil {
			c.checkOutput(t)
		}
	})
	c.Process = program.Start(t, filepath.Join(folder, c.name), c.flags...)
	c.url = c.AwaitURL(t)
	t.Log(c.name, "is at", c.url)
}

// problem records a problem of the example. It keeps the first 20.
func (c *child) problem(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.problems) < 20 {
		c.problems = append(c.problems, err.Error())
	}
}

// checkOutput reports a data race or a panic, and whether there is one.
func (c *child) checkOutput(t *testing.T) (crashed bool) {
	t.Helper()
	output := c.Output()
	crash := regexp.MustCompile(`(?m)^(WARNING: DATA RACE|panic:|fatal error:|.*http: panic serving)`).FindStringIndex(output)
	if crash != nil {
		t.Errorf("%s: %.4000s", c.name, output[crash[0]:])
	}
	return crash != nil
}
