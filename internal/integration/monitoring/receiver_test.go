package monitoring

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// A receiver gets what Alertmanager tells, and passes it on to the storefront, which the real file names.
type receiver struct {
	server *httptest.Server
	to     string

	mu       sync.Mutex
	told     []told
	problems []string
}

// A told alert is one that somebody was told of.
type told struct {
	Status string
	Labels map[string]string
}

func newReceiver(t testing.TB, to string) *receiver {
	t.Helper()
	r := &receiver{to: to}
	r.server = httptest.NewServer(r)
	t.Cleanup(r.server.Close)
	return r
}

// ServeHTTP takes a notification.
func (r *receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	err := r.receive(request)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		r.problems = append(r.problems, err.Error())
		w.WriteHeader(http.StatusBadRequest)
	}
}

func (r *receiver) receive(request *http.Request) error {
	text, err := io.ReadAll(request.Body)
	if err != nil {
		return err
	}
	var notification struct{ Alerts []told }
	if err := json.Unmarshal(text, &notification); err != nil {
		return err
	}
	r.mu.Lock()
	r.told = append(r.told, notification.Alerts...)
	r.mu.Unlock()
	response, err := client().Post(r.to+request.URL.Path, request.Header.Get("Content-Type"), bytes.NewReader(text))
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		answer, _ := io.ReadAll(response.Body)
		return fmt.Errorf("the storefront answers %s: %s", response.Status, answer)
	}
	return nil
}

// has reports whether somebody was told that an alert with these labels is firing, or resolved.
func (r *receiver) has(status string, labels map[string]string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, one := range r.told {
		if one.Status == status && contains(one.Labels, labels) {
			return true
		}
	}
	return false
}

// contains reports whether all has the labels wanted.
func contains(all, wanted map[string]string) bool {
	for name, value := range wanted {
		if all[name] != value {
			return false
		}
	}
	return true
}

// complaints returns what was wrong with notifications.
func (r *receiver) complaints() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.problems
}
