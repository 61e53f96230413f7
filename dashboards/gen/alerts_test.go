package main

import (
	"os"
	"strings"
	"testing"
)

// TestMutes finds each inhibition of Alertmanager, by the label that it is about.
func TestMutes(t *testing.T) {
	text, err := os.ReadFile("../alertmanager/alertmanager.yml")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, label := range []string{throttleName(), breakerName(), bucketName(), backoffName()} {
		for _, m := range mutesAbout(label) {
			if found++; len(m.source) == 0 || len(m.target) == 0 || !strings.Contains(m.equal, ", job, "+label) {
				t.Errorf("%s: got %v want matchers of both sides, and equal labels with it", label, m)
			}
		}
	}
	if want := strings.Count(string(text), "- source_matchers:"); found != want {
		t.Errorf("got %d mutes want the %d of alertmanager.yml", found, want)
	}
}
