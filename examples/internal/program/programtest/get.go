package programtest

import (
	"io"
	"net/http"
	"testing"
)

// Get returns the body of a page.
func Get(t *testing.T, client *http.Client, url string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Do(r)
	if err != nil {
		t.Fatalf("%s: got error %v want nil", url, err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatalf("%s: got error %v want nil", url, err)
	}
	return string(body)
}
