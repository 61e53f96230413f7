package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"unicode"
)

const (
	// maxAlertsSize is more than an Alertmanager sends of a group that nobody would read.
	maxAlertsSize = 1 << 20
	// maxAlertLines is how many alerts of a notification get a line.
	maxAlertLines = 20
	// maxWord is how much of a label is shown.
	maxWord = 80
)

// alerts receives what an Alertmanager sends, and tells it on the terminal.
type alerts struct {
	out io.Writer
}

// notification is what a webhook of Alertmanager sends, as far as it is told here. More fields may come with any version of it.
type notification struct {
	Version   string  `json:"version"`
	Alerts    []alert `json:"alerts"`
	Truncated uint    `json:"truncatedAlerts"` // how many Alertmanager has left out
}

// alert is one of them.
type alert struct {
	Status string            `json:"status"`
	Labels map[string]string `json:"labels"`
}

// ServeHTTP tells all alerts, or none if something is wrong with one of them.
func (a *alerts) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxAlertsSize)
	n, err := readNotification(r)
	if err == nil {
		err = n.tell(a.out)
	}
	if err != nil {
		refuse(w, err)
		return
	}
	answer(w, http.StatusOK, map[string]int{"alerts": len(n.Alerts)})
}

func readNotification(r *http.Request) (notification, error) {
	var n notification
	if mediaTypeOf(r) != "application/json" {
		return n, fmt.Errorf("%w: send application/json", errMediaType)
	}
	if err := readJSON(json.NewDecoder(r.Body), &n); err != nil {
		return n, err
	}
	if n.Version != "4" {
		return n, fmt.Errorf("storefront: version is %.20q: want \"4\", as the webhook of Alertmanager has it", n.Version)
	}
	for i, one := range n.Alerts {
		if one.Status != "firing" && one.Status != "resolved" {
			return n, fmt.Errorf("storefront: status of alert %d is %.20q: want firing or resolved", i, one.Status)
		}
	}
	return n, nil
}

// tell writes a line per alert, and one about those that are too many.
func (n notification) tell(out io.Writer) error {
	var text strings.Builder
	for _, one := range n.Alerts[:min(len(n.Alerts), maxAlertLines)] {
		fmt.Fprintf(&text, "         -- alert %s: %s\n", one.Status, one.describe())
	}
	if more := uint64(max(0, len(n.Alerts)-maxAlertLines)) + uint64(n.Truncated); more > 0 {
		fmt.Fprintf(&text, "         -- alerts: %d more\n", more)
	}
	if text.Len() == 0 {
		return nil
	}
	if _, err := io.WriteString(out, text.String()); err != nil {
		return fmt.Errorf("%w: %w", errTerminal, err)
	}
	return nil
}

// describe returns the alert in words: its name, how bad it is, and what it is about.
func (a alert) describe() string {
	words := []string{"without a name"}
	if name := a.Labels["alertname"]; name != "" {
		words[0] = plain(name)
	}
	if severity := a.Labels["severity"]; severity != "" {
		words = append(words, "("+plain(severity)+")")
	}
	for _, label := range []string{"throttle_name", "error_type", "window", "instance"} {
		if value := a.Labels[label]; value != "" {
			words = append(words, plain(value))
		}
	}
	return strings.Join(words, " ")
}

// plain returns text without anything that a terminal would obey, and not much of it: whoever sends alerts writes no lines of their own.
func plain(text string) string {
	shown := 0
	for i := range text {
		if shown++; shown > maxWord {
			text = text[:i] + "…"
			break
		}
	}
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return unicode.ReplacementChar
		}
		return r
	}, text)
}
