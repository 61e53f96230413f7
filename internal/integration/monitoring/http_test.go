package monitoring

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/spillway-go/spillway/internal/integration/program"
)

// client asks the servers of a test, of which none should be silent.
func client() *http.Client { return &http.Client{Timeout: program.Patience} }

// get returns what is answered at an address.
func get(t testing.TB, url string) string {
	t.Helper()
	response, err := client().Get(url)
	return body(t, url, response, err)
}

// post sends something to an address and returns the answer.
func post(t testing.TB, url, kind, text string) string {
	t.Helper()
	response, err := client().Post(url, kind, strings.NewReader(text))
	return body(t, url, response, err)
}

func body(t testing.TB, url string, response *http.Response, err error) string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s: got %s, error %v and %s want 200", url, response.Status, err, text)
	}
	return string(text)
}
