package main

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestMutes compares the alerts that the tables leave out with the inhibitions of Alertmanager: as many, about the same alerts.
func TestMutes(t *testing.T) {
	text, err := os.ReadFile("../alertmanager/alertmanager.yml")
	if err != nil {
		t.Fatal(err)
	}
	var mutes []mute
	for _, s := range []scope{throttleScope(), breakerScope(), bucketScope(), backoffScope()} {
		mutes = append(mutes, s.mutes...)
	}
	rules := strings.Split(string(text), "- source_matchers:")[1:]
	if len(mutes) != len(rules) {
		t.Fatalf("got %d mutes want the %d inhibit_rules of alertmanager.yml: change the scopes in alerts.go", len(mutes), len(rules))
	}
	name := regexp.MustCompile(`(?m)^ +- (alertname="\w+")$`)
	for i, rule := range rules { // both have the same order
		var all []string
		for _, m := range append(mutes[i].source, mutes[i].target...) {
			all = append(all, string(m))
		}
		for _, found := range name.FindAllStringSubmatch(rule, -1) {
			if !strings.Contains(strings.Join(all, " "), found[1]) {
				t.Errorf("mute %d: got %v want %s too", i, all, found[1])
			}
		}
		equal := regexp.MustCompile(`equal: \[(.*)\]`).FindStringSubmatch(rule)
		if got := len(mutes[i].equal); equal == nil || got != len(strings.Split(equal[1], ",")) {
			t.Errorf("mute %d: got equal %v want %v", i, mutes[i].equal, equal)
		}
	}
}
