package control_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/control"
)

// patience is much longer than a document may take to be in force: no result depends on the speed of the machine.
const patience = time.Minute

func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !holds(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not within %v", what, patience)
		}
	}
}

func replace(t testing.TB, path, text string) {
	t.Helper()
	write(t, path+".new", text)
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestWatch_refuses a file that is wrong, keeps what is in force, and reports each reason once.
func TestWatch_refuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r recorder
		c := newControl(t, r.hooks())
		th := newThrottle(t, c, "stock")
		path := filepath.Join(t.TempDir(), "control.json")
		if err := c.Watch(t.Context(), path); err != nil {
			t.Fatal(err)
		}
		if s := c.Stats(); !s.Watching || !s.Broken || s.Tunings[throttle.SourceFile][control.Refused] != 1 {
			t.Errorf("missing at the start: got %+v", s)
		}
		for i, tt := range []struct{ name, text, want string }{
			{"half written", `{"throttles": {"stock": {"mode": "off"`, "line 1: unexpected EOF"},
			{"empty", "", "not a JSON object"},
			{"too large", strings.Repeat(" ", control.MaxDocument+1), "has more than 1048576 bytes"},
			{"wrong in part", `{"throttles": {"stock": {"ratio": 9}, "stcok": {"mode": "off"}}}`, "unknown name"},
			{"for", `{"throttles": {"stock": {"mode": "off", "for": "1h"}}}`, "for is set in a file: want until"},
			{"missing", "", "no such file"},
			{"folder", "", "is not a regular file"},
		} {
			ratio := float64(3 + i)
			replace(t, path, fmt.Sprintf(`{"throttles": {"stock": {"ratio": %v}}}`, ratio))
			eventually(t, "valid before "+tt.name, func() bool { return th.Stats().Ratio == ratio && !c.Stats().Broken })
			r.take()
			switch tt.name {
			case "missing":
				_ = os.Remove(path)
			case "folder":
				_, _ = os.Remove(path), os.Mkdir(path, 0o700)
			default:
				write(t, path, tt.text)
			}
			var failed []error
			eventually(t, tt.name, func() bool {
				_, more := r.take()
				failed = append(failed, more...)
				return len(failed) > 0
			})
			if s := c.Status(); !strings.Contains(failed[0].Error(), tt.want) || s.File.Error != failed[0].Error() || s.File.Path != path {
				t.Errorf("%s: got %v and %+v want %s", tt.name, failed, s.File, tt.want)
			}
			if tt.name == "half written" { // this one waits for two more readings
				time.Sleep(2200 * time.Millisecond)
			}
			if tuned, more := r.take(); th.Stats().Ratio != ratio || tuned != nil || more != nil {
				t.Errorf("%s: got a ratio of %v, %q and %v want what was in force, and no other report", tt.name, th.Stats().Ratio, tuned, more)
			}
			if tt.name == "folder" {
				_ = os.Remove(path)
			}
		}
	})
}

// TestWatch_changedAt is when the file was written if a process starts with it, or what the line says, and now for later
// changes.
func TestWatch_changedAt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin, path := time.Now(), filepath.Join(t.TempDir(), "control.json")
		written := begin.Add(-48 * time.Hour)
		chtimes := func(at time.Time) {
			t.Helper()
			if err := os.Chtimes(path, at, at); err != nil {
				t.Fatal(err)
			}
		}
		start := func() (c *control.Control, stop context.CancelFunc) {
			c = newControl(t, control.Hooks{})
			for _, name := range []string{"a", "b", "c", "d"} {
				newThrottle(t, c, name)
			}
			throttle.Config{Name: "later", Hooks: c.ThrottleHooks()}.Announce()
			ctx, stop := context.WithCancel(t.Context())
			if err := c.Watch(ctx, path); err != nil {
				t.Fatal(err)
			}
			return c, stop
		}
		want := func(when string, c *control.Control, times map[string]time.Time) {
			t.Helper()
			last := c.Stats().Last
			for _, l := range last {
				if !l.At.Equal(times[l.Name]) || l.Source != throttle.SourceFile {
					t.Errorf("%s: got %+v want %v", when, l, times[l.Name])
				}
			}
			equal(t, when+": changes", len(last), len(times))
		}
		stated := time.Date(1999, 11, 23, 18, 0, 0, 0, time.UTC)
		const lines = `"a": {"ratio": 3}, "b": {"ratio": 3, "changed": "1999-11-23T18:00:00Z"}, "later": {"ratio": 3}`
		write(t, path, `{"throttles": {`+lines+`}}`)
		chtimes(written)
		c, stop := start()
		want("at the start", c, map[string]time.Time{"a": written, "b": stated, "later": written})
		time.Sleep(500 * time.Millisecond) // the file is read each full second
		replace(t, path, `{"throttles": {`+lines+`, "c": {"ratio": 4, "changed": "2099-11-23T18:00:00Z"}, "d": {"ratio": 4}}}`)
		chtimes(written) // such as a copy of an older file
		time.Sleep(time.Second)
		now := begin.Add(time.Second)
		want("after a change", c, map[string]time.Time{"a": written, "b": stated, "later": written, "c": now, "d": now})
		replace(t, path, `{}`)
		time.Sleep(time.Second)
		now = begin.Add(2 * time.Second)
		want("after the end", c, map[string]time.Time{"a": now, "b": now, "later": now, "c": now, "d": now})
		stop()
	})
}

// TestWatch_closed: a change that comes with Close is not a refused file.
func TestWatch_closed(t *testing.T) {
	for range 10 {
		synctest.Test(t, func(t *testing.T) {
			var r recorder
			hooks := r.hooks()
			tuned := hooks.Tuned
			hooks.Tuned = func(ctx context.Context, e control.TunedEvent) {
				tuned(ctx, e)
				time.Sleep(3 * time.Second) // so that a tick and Close come together
			}
			c := newControl(t, hooks)
			newThrottle(t, c, "stock")
			path := filepath.Join(t.TempDir(), "control.json")
			write(t, path, `{"throttles": {"stock": {"mode": "shadow"}}}`)
			if err := c.Watch(t.Context(), path); err != nil {
				t.Fatal(err)
			}
			write(t, path, `{"throttles": {"stock": {"mode": "off"}}}`)
			time.Sleep(1500 * time.Millisecond)
			write(t, path, `{"throttles": {"stock": {"mode": "enforce"}}}`)
			_ = c.Close()
			time.Sleep(10 * time.Second)
			if _, failed := r.take(); len(failed) > 0 {
				t.Errorf("after Close: got %v want no report", failed)
			}
		})
	}
}

// TestWatch_laterName applies a document when its name exists.
func TestWatch_laterName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newControl(t, control.Hooks{})
		path := filepath.Join(t.TempDir(), "control.json")
		write(t, path, `{"throttles": {"stock": {"mode": "off"}}}`)
		if err := c.Watch(t.Context(), path); err != nil {
			t.Fatal(err)
		}
		th := newThrottle(t, c, "stock")
		eventually(t, "off", func() bool { return th.Stats().Mode == throttle.ModeOff && !c.Stats().Broken })
	})
}

// TestWatch_misuse and its end.
func TestWatch_misuse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newControl(t, control.Hooks{})
		path := filepath.Join(t.TempDir(), "control.json")
		write(t, path, "{}")
		ctx, cancel := context.WithCancel(t.Context())
		for _, tt := range []struct{ path, want string }{{"", "path is empty"}, {path, "<nil>"}, {path, "another file is watched already"}} {
			if err := c.Watch(ctx, tt.path); !strings.Contains(fmt.Sprint(err), tt.want) {
				t.Errorf("Watch(%q): got %v want %s", tt.path, err, tt.want)
			}
		}
		cancel()
		eventually(t, "the end of Watch", func() bool { return !c.Stats().Watching })
		equal(t, "Watch after the end of the first", c.Watch(t.Context(), path), nil)
	})
}

// TestWatch_panic of a throttle's clock is reported, and its settings are in force.
func TestWatch_panic(t *testing.T) {
	var r recorder
	var broken atomic.Bool
	c := newControl(t, r.hooks())
	th := throttle.Must(throttle.New(throttle.Config{Name: "stock", Hooks: c.ThrottleHooks(), Now: func() time.Time {
		if broken.Load() {
			panic("clock")
		}
		return time.Now()
	}}))
	path := filepath.Join(t.TempDir(), "control.json")
	write(t, path, `{"throttles": {"stock": {"mode": "off"}}}`)
	broken.Store(true)
	err := c.Watch(t.Context(), path)
	if now, _ := th.Tuning(); err != nil || now.Mode != throttle.ModeOff {
		t.Errorf("got mode %v, error %v", now.Mode, err)
	}
	if _, failed := r.take(); len(failed) != 1 || !strings.Contains(failed[0].Error(), `control: throttle "stock": panicked: clock`) {
		t.Errorf("got %v", failed)
	}
}
