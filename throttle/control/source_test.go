package control_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle/control"
)

// TestWatchFunc applies what a function returns, keeps it while reads fail, and waits for every in between.
func TestWatchFunc(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r recorder
		c := newControl(t, r.hooks())
		th := newThrottle(t, c, "stock")
		var now atomic.Pointer[answer]
		var reads atomic.Int64
		var buffer [64]byte // the same for all reads
		begun := time.Now()
		now.Store(&answer{text: ratio(3)})
		err := c.WatchFunc(t.Context(), "etcd", 20*time.Second, func(ctx context.Context) ([]byte, error) {
			reads.Add(1)
			if end, ok := ctx.Deadline(); !ok || time.Until(end) > 5*time.Second {
				t.Errorf("got a read until %v want 5 s at most", end)
			}
			a := now.Load()
			return buffer[:copy(buffer[:], a.text)], a.failure
		})
		first := c.Stats().Version
		if err != nil || th.Stats().Ratio != 3 || first == 0 || c.Status().File.Path != "etcd" || c.Status().File.Version != first {
			t.Fatalf("got ratio %v, %+v and error %v", th.Stats().Ratio, c.Status().File, err)
		}
		now.Store(&answer{ratio(4), errors.New("no leader")})
		time.Sleep(45 * time.Second)
		if s := c.Stats(); th.Stats().Ratio != 3 || !s.Broken || s.Version != first || reads.Load() != 3 {
			t.Errorf("a read that fails: got ratio %v, %d reads, %+v", th.Stats().Ratio, reads.Load(), s)
		}
		if _, failed := r.take(); len(failed) != 1 || failed[0].Error() != "control: etcd: no leader" {
			t.Errorf("got failures %v want one", failed)
		}
		now.Store(&answer{text: ratio(3)})
		time.Sleep(23 * time.Second)
		if f := c.Status().File; f.Error != "" || !f.Since.Equal(begun) {
			t.Errorf("the same document again: got %+v want it since %v", f, begun)
		}
		now.Store(&answer{text: ratio(4)})
		time.Sleep(23 * time.Second)
		if s := c.Stats(); th.Stats().Ratio != 4 || s.Broken || s.Version == first || s.Version == 0 {
			t.Errorf("after it: got ratio %v, %+v", th.Stats().Ratio, s)
		}
	})
}

// answer is what a read returns.
type answer struct {
	text    string
	failure error
}

func ratio(of int) string { return fmt.Sprintf(`{"throttles": {"stock": {"ratio": %d}}}`, of) }

func TestWatchFunc_refuses(t *testing.T) {
	read := func(context.Context) ([]byte, error) { return []byte("{}"), nil }
	c := newControl(t, control.Hooks{})
	for want, err := range map[string]error{
		"read is nil":           c.WatchFunc(t.Context(), "x", 0, nil),
		"name is empty":         c.WatchFunc(t.Context(), "", 0, read),
		"every is 1ms: want at": c.WatchFunc(t.Context(), "x", time.Millisecond, read),
		"the Control is nil":    (*control.Control)(nil).WatchFunc(t.Context(), "x", 0, read),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v want %s", err, want)
		}
	}
}

// TestWatchFunc_accidents goes on after reads that panic or end their goroutine, at the start and later.
func TestWatchFunc_accidents(t *testing.T) {
	for want, accident := range map[string]func(){
		"control: x: read panicked: an accident":       func() { panic("an accident") },
		"control: x: the function ended its goroutine": runtime.Goexit,
	} {
		synctest.Test(t, func(t *testing.T) {
			c := newControl(t, control.Hooks{})
			th := newThrottle(t, c, "stock")
			var reads atomic.Int64
			err := c.WatchFunc(t.Context(), "x", time.Second, func(context.Context) ([]byte, error) {
				if reads.Add(1) < 3 {
					accident()
				}
				return []byte(ratio(3)), nil
			})
			time.Sleep(1500 * time.Millisecond)
			if got := c.Status().File.Error; err != nil || reads.Load() != 2 || !strings.HasPrefix(got, want) {
				t.Errorf("got error %v, %d reads, refused for %q want %q", err, reads.Load(), got, want)
			}
			time.Sleep(time.Second)
			if got := c.Status().File.Error; got != "" || th.Stats().Ratio != 3 {
				t.Errorf("after a good read: got ratio %v, refused for %q", th.Stats().Ratio, got)
			}
		})
	}
}

// TestWatchFunc_sameReason: failed reads whose texts differ by numbers only are reported once, documents each time.
func TestWatchFunc_sameReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var failed []error
		c := newControl(t, control.Hooks{Failed: func(_ context.Context, e control.FailedEvent) { failed = append(failed, e.Err) }})
		newThrottle(t, c, "stock")
		broken := fmt.Errorf("read tcp 10.0.0.1:4711->10.0.0.2:80: %w", io.ErrUnexpectedEOF)
		answers := []answer{
			{failure: broken}, {failure: errors.New("read tcp 10.0.0.1:52001->10.0.0.2:80: unexpected EOF")},
			{failure: errors.New("stream error: stream ID 3")}, {failure: errors.New("stream error: stream ID 5")},
			{failure: errors.New("current time 2026-11-28T10:00:00Z is after 2026-11-01T00:00:00Z")},
			{failure: errors.New("current time 2026-11-28T10:00:11Z is after 2026-11-01T00:00:00Z")},
			{text: ratio(-1)}, {text: ratio(-1)}, {text: ratio(-2)},
		}
		reads := 0
		err := c.WatchFunc(t.Context(), "x", time.Second, func(context.Context) ([]byte, error) {
			a := answers[min(reads, len(answers)-1)]
			reads++
			return []byte(a.text), a.failure
		})
		time.Sleep(time.Minute)
		synctest.Wait()
		if err != nil || len(failed) != 5 || !errors.Is(failed[0], io.ErrUnexpectedEOF) {
			t.Errorf("got error %v, reported %q want five reasons, the first with its cause", err, failed)
		}
	})
}

// TestWatchFunc_once reads a document that never changes.
func TestWatchFunc_once(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, reads := newControl(t, control.Hooks{}), 0
		err := c.WatchFunc(t.Context(), "x", math.MaxInt64, func(context.Context) ([]byte, error) { reads++; return []byte("{}"), nil })
		time.Sleep(24 * time.Hour)
		if err != nil || reads != 1 || !c.Stats().Watching {
			t.Errorf("got error %v, %d reads, %+v want one read", err, reads, c.Stats())
		}
	})
}

// TestReadURL gets a document, asks whether it has changed, and names what is wrong without a password of the address.
func TestReadURL(t *testing.T) {
	var status atomic.Int32
	var asked []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Header.Get("If-None-Match"))
		w.Header().Set("ETag", `"one"`)
		if status.Load() != 0 {
			w.WriteHeader(int(status.Load()))
			return
		}
		if r.Header.Get("If-None-Match") == `"one"` {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		_, _ = w.Write([]byte(ratio(3)))
	}))
	defer s.Close()
	read := control.ReadURL(nil, strings.Replace(s.URL, "http://", "http://ana:secret@", 1))
	for range 2 {
		if data, err := read(t.Context()); string(data) != ratio(3) || err != nil {
			t.Errorf("got %s and error %v", data, err)
		}
	}
	equal(t, "If-None-Match of both", strings.Join(asked, ","), `,"one"`)
	if _, err := control.ReadURL(nil, "https://ana:sec#ret@example.com")(t.Context()); err == nil || strings.Contains(err.Error(), "sec") {
		t.Errorf("a password with #: got error %v", err)
	}
	status.Store(http.StatusServiceUnavailable)
	if _, err := read(t.Context()); err == nil || !strings.Contains(err.Error(), `status is "503 Service Unavailable"`) {
		t.Errorf("503: got error %v", err)
	}
	s.Close()
	if _, err := read(t.Context()); err == nil || strings.Contains(err.Error(), "secret") || !strings.Contains(err.Error(), "connect") {
		t.Errorf("no server: got error %v", err)
	}
}

// TestReadURL_tooLong does not read more than a document may have.
func TestReadURL_tooLong(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(strings.Repeat(" ", 2*control.MaxDocument)))
	}))
	defer s.Close()
	if data, err := control.ReadURL(nil, s.URL)(t.Context()); len(data) != control.MaxDocument+1 || err != nil {
		t.Errorf("got %d bytes and error %v", len(data), err)
	}
}
