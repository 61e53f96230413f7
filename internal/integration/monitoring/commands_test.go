package monitoring

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/template"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/backoff"
	"github.com/spillway-go/spillway/throttle/breaker"
	"github.com/spillway-go/spillway/throttle/bucket"
	"github.com/spillway-go/spillway/throttle/control"
	"github.com/spillway-go/spillway/throttle/retry"
)

// fakeKubectl notes what it is asked for. The Deployment has three replicas.
const fakeKubectl = `#!/bin/sh
for word in "$@"; do printf '%s\t' "$word" >> "$KUBECTL_LOG"; done
echo >> "$KUBECTL_LOG"
case "$*" in *jsonpath*) echo 3;; esac
`

// A controlled is a service with a control, and notes what its operators ask for.
type controlled struct {
	server   *httptest.Server
	control  *control.Control
	statuses []int
}

// newControlled has one thing of each kind with a name that is hard to quote.
func newControlled(t *testing.T, name string) *controlled {
	t.Helper()
	ctl := throttle.Must(control.New(control.Config{}))
	t.Cleanup(func() { _ = ctl.Close() })
	th := throttle.Must(throttle.New(throttle.Config{Name: name, Slow: time.Minute, Hooks: ctl.ThrottleHooks()}))
	b := breaker.Must(breaker.New(breaker.Config{Name: name, Hooks: ctl.BreakerHooks()}))
	l := bucket.Must(bucket.New(bucket.Config{Name: name, Limit: bucket.PerSecond(100), Hooks: ctl.BucketHooks()}))
	o := backoff.Must(backoff.New(backoff.Config{Name: name, Hooks: ctl.BackoffHooks()}))
	r := throttle.Must(retry.New(retry.Config{Name: name, Hooks: ctl.RetryHooks()}))
	t.Cleanup(func() { _, _, _, _, _ = th.Close(), b.Close(), l.Close(), o.Close(), r.Close() })
	handler := throttle.Must(ctl.Handler(func(*http.Request) (string, error) { return "ana", nil }))
	c := &controlled{control: ctl}
	c.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		seen := httptest.NewRecorder()
		handler.ServeHTTP(seen, request)
		c.statuses = append(c.statuses, seen.Code)
		w.WriteHeader(seen.Code)
		_, _ = w.Write(seen.Body.Bytes())
	}))
	t.Cleanup(c.server.Close)
	return c
}

// overrides returns how many names have settings that are not those of the code.
func (c *controlled) overrides() (n int) {
	for _, of := range c.control.Stats().Overrides {
		n += of
	}
	return n
}

// TestAlerts_Commands fills in the commands of each alert as Prometheus does, and runs them: curl against a service, in which
// the step changes one thing and its undo ends that, and kubectl against a program that notes what
// it gets. With -v it prints the step and the undo of each alert.
func TestAlerts_Commands(t *testing.T) {
	const name = `my "best" shop's`
	_, alerts := readRules(t)
	tools := t.TempDir()
	if err := os.WriteFile(filepath.Join(tools, "kubectl"), []byte(fakeKubectl), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, a := range alerts {
		c := newControlled(t, name)
		labels := map[string]string{
			"cluster": "eu", "namespace": "shop", "job": "shop", "instance": "10.0.0.7:9464", "throttle_name": name, "throttle_retry_name": name,
			"throttle_breaker_name": name, "throttle_bucket_name": name, "throttle_backoff_name": name, "throttle_mode": "shadow",
		}
		script := strings.ReplaceAll(expand(t, a.Annotations["commands"], labels), "http://localhost:9464", c.server.URL)
		step, undo, ok := strings.Cut(script, "# Undo")
		if !ok {
			t.Errorf("%s: got no undo in %s", a.Alert, script)
			continue
		}
		if testing.Verbose() {
			t.Logf("%s %s\n%s", a.Alert, a.Labels["severity"], script)
		}
		asked := runShell(t, tools, step)
		over := c.overrides()
		asked = append(asked, runShell(t, tools, "before=3\n# Undo"+undo)...)
		curls := strings.Count(script, "curl ")
		if slices.ContainsFunc(c.statuses, func(code int) bool { return code != http.StatusOK }) || len(c.statuses) != curls {
			t.Errorf("%s: got answers %v want %d times 200 to\n%s", a.Alert, c.statuses, curls, script)
		}
		if left := c.overrides(); curls > 0 && (over == 0 || left != 0) {
			t.Errorf("%s: got %d overrides after the step and %d after its undo want some, then none", a.Alert, over, left)
		}
		if len(asked) == 0 {
			t.Errorf("%s: got no kubectl", a.Alert)
		}
		for _, line := range asked {
			words := strings.Split(strings.TrimSuffix(line, "\t"), "\t")
			if patch := words[len(words)-1]; !kubectlForms().MatchString(strings.Join(words, " ")) || slices.Contains(words, "-p") && !json.Valid([]byte(patch)) {
				t.Errorf("%s: got kubectl %q want cluster, namespace and one of the forms, and JSON in a patch", a.Alert, words)
			}
		}
	}
}

// kubectlForms matches what alerts ask kubectl for: in the cluster and the namespace of the alert, with arguments and flags that kubectl
// has. A command of another form needs a line here, after a try with kubectl.
func kubectlForms() *regexp.Regexp {
	const deployment, configMap, pods = `deployment/[\w.-]+`, `configmap [\w.-]+`, `pods --field-selector status\.podIP=[\d.]+`
	return regexp.MustCompile("^--context eu -n shop (" + strings.Join([]string{
		"port-forward " + deployment + ` \d+`,
		"scale " + deployment + ` --replicas=\d+`,
		"rollout (restart|undo) " + deployment,
		"get " + deployment + ` -o jsonpath=\{[\w.]+\}`,
		"get " + configMap + " -o yaml",
		"get " + pods + " -o wide",
		"delete " + pods,
		"patch " + configMap + ` --type merge -p \{.*\}`,
		`replace -f [\w.]+`,
	}, "|") + ")$")
}

// expand fills in a template of an annotation, by Prometheus' own code. Each query is 200.
func expand(t *testing.T, text string, labels map[string]string) string {
	t.Helper()
	query := func(context.Context, string, time.Time) (promql.Vector, error) { return promql.Vector{{F: 200}}, nil }
	all := template.NewTemplateExpander(t.Context(), "{{ $labels := . }}"+text, "commands", labels, model.Now(), query, nil, nil)
	filled, err := all.Expand()
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return filled
}

// runShell runs a script, and returns what it asked kubectl for.
func runShell(t *testing.T, tools, script string) []string {
	t.Helper()
	folder := t.TempDir()
	log := filepath.Join(folder, "asked")
	cmd := exec.Command("sh", "-e", "-c", script+"\nwait")
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), "PATH="+tools+":"+os.Getenv("PATH"), "KUBECTL_LOG="+log)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%s: %v\n%s", script, err, out)
	}
	text, _ := os.ReadFile(log) // of nothing, if kubectl was not asked
	return strings.FieldsFunc(string(text), func(r rune) bool { return r == '\n' })
}
