package protocol_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/protocol"
	"github.com/spillway-go/spillway/throttle/retry"
)

func TestNewThrottles_errors(t *testing.T) {
	_, err := protocol.NewThrottles("p: C", throttle.Config{}, throttle.GroupConfig{Max: -1}, &retry.Config{Throttle: &throttle.Throttle{}})
	for _, want := range []string{
		"p: C.Throttle: throttle: Config.Name is missing", "p: C.Group: throttle: GroupConfig.Max is -1",
		"p: C.Retry.Throttle is set: want nil, because each key has its own",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v want it to contain %q", err, want)
		}
	}
	_, err = protocol.NewThrottles("p: C", throttle.Config{Name: "a"}, throttle.GroupConfig{}, &retry.Config{Attempts: -1})
	if err == nil || !strings.HasPrefix(err.Error(), "p: C.Retry: retry: Config.Attempts is -1") {
		t.Errorf("got %v want the field Retry named", err)
	}
}

// Calls after Close are not throttled, and the log says so once.
func TestThrottles_Of(t *testing.T) {
	var log bytes.Buffer
	previous := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	t.Cleanup(func() { slog.SetDefault(previous) })
	throttles := throttle.Must(protocol.NewThrottles("p: C", throttle.Config{Name: "orders"}, throttle.GroupConfig{}, &retry.Config{}))
	th := throttles.Of("a")
	if th == nil || th.Key() != "a" || throttles.Of("a") != th || throttles.RetrierOf(th) == nil || log.Len() > 0 {
		t.Errorf("got %v, log %q want one throttle with a retrier, and no line", th, log.String())
	}
	_ = throttles.Group.Close()
	for range 3 {
		if th := throttles.Of("b"); th != nil {
			t.Errorf("after Close: got %v want none", th)
		}
	}
	if got := log.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "level=WARN") ||
		!strings.Contains(got, `throttle=orders key=b error="throttle: group is closed"`) {
		t.Errorf("after Close: got log %q want one warning", got)
	}
}

// The names of throttles and retries are known before the first call, and not if the Config is refused.
func TestNewThrottles_announced(t *testing.T) {
	var names []string
	c := throttle.Config{Name: "hosts", Hooks: throttle.Hooks{Announced: func(name string) { names = append(names, name) }}}
	r := &retry.Config{Hooks: retry.Hooks{Announced: func(name string) { names = append(names, "retries of "+name) }}}
	_, refused := protocol.NewThrottles("p: C", c, throttle.GroupConfig{Max: -1}, nil)
	throttles, err := protocol.NewThrottles("p: C", c, throttle.GroupConfig{}, r)
	if refused == nil || err != nil || strings.Join(names, ", ") != "retries of hosts, hosts" || throttles.Group.Len() != 0 {
		t.Errorf("got %q, errors %v and %v want the names once, and no throttle", names, refused, err)
	}
}
