package main

import (
	"strings"
	"testing"
	"testing/fstest"
)

func TestLinkRunbooks(t *testing.T) {
	board := map[string][]byte{"a.json": []byte(`{"uid": "throttle-a", "title": "Throttle / A", "panels": [
		{"id": 1, "type": "row", "title": "Row", "panels": [{"id": 7, "type": "stat", "title": "In it"}]}]}`)}
	got := func(text string) (string, error) {
		out, err := linkRunbooks(fstest.MapFS{"runbooks.md": {Data: []byte(text)}}, board)
		return string(out), err
	}
	want := "See [*A → In\nit*] in [*A → Row*].\n" + linksBelow + "\n" +
		"[*A → In it*]: https://grafana.example.com/d/throttle-a?viewPanel=7\n[*A → Row*]: https://grafana.example.com/d/throttle-a\n"
	if text, err := got("See [*A → In\nit*] in [*A → Row*].\n" + linksBelow + "old"); err != nil || text != want {
		t.Errorf("got %s, error %v want %s", text, err, want)
	}
	for text, wrong := range map[string]string{
		"[*A → Gone*]\n" + linksBelow: "no panel A → Gone",
		"[*A → Row*]":                 "no line",
	} {
		if _, err := got(text); err == nil || !strings.Contains(err.Error(), wrong) {
			t.Errorf("%q: got error %v want %s", text, err, wrong)
		}
	}
}
