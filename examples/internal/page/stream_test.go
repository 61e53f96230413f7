package page

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
)

// watch opens a stream, and returns what it has sent once it has ended.
func watch(t *testing.T, st *Stream) (ended func() *httptest.ResponseRecorder) {
	recorder, done := httptest.NewRecorder(), make(chan struct{})
	go func() {
		defer close(done)
		st.ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/stream", nil))
	}()
	synctest.Wait()
	return func() *httptest.ResponseRecorder {
		<-done
		return recorder
	}
}

func TestStreamSendsTheHistoryFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := NewStream()
		st.publish([]byte(`{"at":1}`))
		st.publish([]byte(`{"at":2}`))
		ended := watch(t, st)
		st.publish([]byte(`{"at":3}`))
		synctest.Wait()
		st.Close()
		got := ended()
		const want = "retry: 1000\nevent: history\ndata: [{\"at\":1},{\"at\":2}]\n\nevent: sample\ndata: {\"at\":3}\n\n"
		if got.Body.String() != want || got.Header().Get("Content-Type") != "text/event-stream" || !got.Flushed {
			t.Errorf("stream: got %q, header %v want %q", got.Body, got.Header(), want)
		}
	})
}

func TestStreamDropsOldSamples(t *testing.T) {
	st := NewStream()
	for i := range maxHistory + 10 {
		st.publish([]byte(strconv.Itoa(i)))
	}
	_, history := st.subscribe()
	var samples []int
	text := strings.TrimPrefix(string(history), "event: history\ndata: ")
	if err := json.Unmarshal([]byte(text), &samples); err != nil || len(samples) != maxHistory || samples[0] != 10 {
		t.Errorf("history: got %d samples, error %v want the last %d", len(samples), err, maxHistory)
	}
}

func TestStreamDropsSlowViewers(t *testing.T) {
	st := NewStream()
	slow, _ := st.subscribe()
	quick, _ := st.subscribe()
	for range maxLag + 1 {
		st.publish([]byte("{}"))
		<-quick
	}
	if len(st.viewers) != 1 {
		t.Errorf("viewers: got %d want 1: the quick one", len(st.viewers))
	}
	for range maxLag {
		if _, ok := <-slow; !ok {
			t.Fatal("slow viewer: got less than was sent before it was dropped")
		}
	}
	if _, ok := <-slow; ok {
		t.Error("slow viewer: got more, want it dropped")
	}
	st.unsubscribe(slow) // as its handler does then
	st.publish([]byte("{}"))
	if event, ok := <-quick; !ok || string(event) != "event: sample\ndata: {}\n\n" {
		t.Errorf("quick viewer: got %q, %v want the next sample", event, ok)
	}
}

func TestStreamLimitsItsViewers(t *testing.T) {
	st := NewStream()
	var first chan []byte
	for i := range maxViewers {
		v, _ := st.subscribe()
		if v == nil {
			t.Fatalf("viewer %d: got refused want let in", i)
		}
		first = v
	}
	refused := func(when string) {
		t.Helper()
		recorder := httptest.NewRecorder()
		st.ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/stream", nil))
		if recorder.Code != http.StatusServiceUnavailable || recorder.Header().Get("Retry-After") == "" {
			t.Errorf("%s: got status %d want 503 with Retry-After", when, recorder.Code)
		}
	}
	refused("one too many")
	st.unsubscribe(first)
	if v, _ := st.subscribe(); v == nil {
		t.Error("after one has left: got refused want let in")
	}
	st.Close()
	if len(st.viewers) != 0 {
		t.Errorf("viewers after the end: got %d want none", len(st.viewers))
	}
	refused("after the end")
}
