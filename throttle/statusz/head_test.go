package statusz

import (
	"io"
	"maps"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
)

// answerTo asks a site, and returns the answer with a description of what HEAD and GET must have in common.
func (s *site) answerTo(t testing.TB, method, query string) (answer *http.Response, head map[string][]string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, "http://site/debug/throttle"+query, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err = s.client.Do(r)
	if err != nil {
		t.Fatalf("%s %s: %v", method, query, err)
	}
	head = maps.Clone(answer.Header)
	for _, ofTheBody := range []string{"Date", "Content-Length"} {
		delete(head, ofTheBody)
	}
	return answer, head
}

func TestHEADIsAnsweredAsGETWithoutTheBody(t *testing.T) {
	full := func(p *Page) { p.audience.streams, p.audience.answers = maxStreams, maxAnswers }
	closed := func(p *Page) { _ = p.Close() }
	for _, tt := range []struct {
		name, query string
		before      func(*Page)
		want        int
	}{
		{"the page", "", nil, 200},
		{"JSON", "?format=json", nil, 200},
		{"JSON with its history", "?format=json&history=1", nil, 200},
		{"JSON with a bad query", "?format=json&history=much", nil, 400},
		{"the page with another format's query", "?history=much", nil, 200},
		{"an unknown format", "?format=xml", nil, 400},
		{"a stream", "?format=stream", nil, 200},
		{"the page, full", "", full, 503},
		{"JSON, full", "?format=json", full, 503},
		{"JSON with a bad query, full", "?format=json&history=much", full, 503},
		{"a stream, full", "?format=stream", full, 503},
		{"the page, closed", "", closed, 503},
		{"a stream, closed", "?format=stream", closed, 503},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := New()
				defer p.Close()
				if tt.before != nil {
					tt.before(p)
				}
				s := host(t, p)
				head, got := s.answerTo(t, http.MethodHead, tt.query)
				body, err := io.ReadAll(head.Body)
				if head.StatusCode != tt.want || len(body) > 0 || err != nil {
					t.Errorf("HEAD: got status %d, %d bytes, %v want %d, none, nil", head.StatusCode, len(body), err, tt.want)
				}
				if p.audience.sampler != nil {
					t.Error("HEAD has started a sampler")
				}
				get, want := s.answerTo(t, http.MethodGet, tt.query)
				_ = get.Body.Close()
				if head.StatusCode != get.StatusCode || head.Close != get.Close || !maps.EqualFunc(got, want, slices.Equal) {
					t.Errorf("HEAD: got status %d, closing %v, header %v\nwant as GET %d, %v, %v",
						head.StatusCode, head.Close, got, get.StatusCode, get.Close, want)
				}
			})
		})
	}
}
