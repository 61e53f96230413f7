package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

func equal[T comparable](t testing.TB, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v want %v", what, got, want)
	}
}

// build returns a storefront with these flags, and closes it at the end of the test.
func build(t *testing.T, flags string) *storefront {
	t.Helper()
	f, err := newStorefront(t.Context(), settingsOf(t, flags), io.Discard, nothing)
	if err != nil {
		t.Fatalf("newStorefront: got error %v want nil", err)
	}
	t.Cleanup(func() {
		f.closeStreams()
		if err := f.close(t.Context()); err != nil && t.Context().Err() == nil {
			t.Errorf("close: got error %v want nil", err)
		}
	})
	return f
}

// get returns the answer to a GET with these headers, in pairs.
func get(t *testing.T, handler http.Handler, path string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	return ask(handler, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1:8080"+path, nil), headers...)
}

func ask(handler http.Handler, r *http.Request, headers ...string) *httptest.ResponseRecorder {
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, r)
	return recorder
}
