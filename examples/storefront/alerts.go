package main

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"unicode"

	"github.com/spillway-go/spillway/examples/internal/page"
)

const (
	// maxAlertsSize is the largest body that is read. Alertmanager sends less, except for groups of
	// thousands of alerts.
	maxAlertsSize = 1 << 20
	// maxAlertLines is how many alerts of a notification get a line.
	maxAlertLines = 20
	// maxLabel is how many characters of a label are printed.
	maxLabel = 80
)

// notification is the body that Alertmanager sends. It has only the fields that are printed here;
// other fields are ignored.
type notification struct {
	Version   string  `json:"version"`
	Alerts    []alert `json:"alerts"`
	Truncated uint    `json:"truncatedAlerts"` // alerts that Alertmanager has left out
}

type alert struct {
	Status string            `json:"status"`
	Labels map[string]string `json:"labels"`
}

// printAlerts is the webhook of an Alertmanager. It prints all alerts of the request on the terminal, or none if one of
// them is invalid. If it cannot print, it answers so that Alertmanager tries again.
func (f *storefront) printAlerts(w http.ResponseWriter, r *http.Request) {
	var n notification
	err := page.ReadJSON(w, r, maxAlertsSize, &n)
	if err == nil {
		err = n.validate()
	}
	if err != nil {
		page.WriteError(w, err)
		return
	}
	if _, err := io.WriteString(f.out, n.text()); err != nil {
		page.WriteJSON(w, http.StatusServiceUnavailable, map[string]string{"error": "cannot write to the standard output: " + err.Error()})
		return
	}
	page.WriteJSON(w, http.StatusOK, map[string]int{"alerts": len(n.Alerts)})
}

func (n notification) validate() error {
	if n.Version != "4" {
		return fmt.Errorf("version is %.20q: want \"4\", the version of Alertmanager's webhook", n.Version)
	}
	for i, one := range n.Alerts {
		if one.Status != "firing" && one.Status != "resolved" {
			return fmt.Errorf("status of alert %d is %.20q: want firing or resolved", i, one.Status)
		}
	}
	return nil
}

// text returns a line per alert, and then the number of alerts without a line.
func (n notification) text() string {
	var text strings.Builder
	for _, one := range n.Alerts[:min(len(n.Alerts), maxAlertLines)] {
		fmt.Fprintf(&text, "         -- alert %s: %s\n", one.Status, one.describe())
	}
	if more := uint64(max(0, len(n.Alerts)-maxAlertLines)) + uint64(n.Truncated); more > 0 {
		fmt.Fprintf(&text, "         -- alerts: %d more\n", more)
	}
	return text.String()
}

// describe returns the alert's name, its severity, and the labels of its subject.
func (a alert) describe() string {
	words := []string{"without a name"}
	if name := a.Labels["alertname"]; name != "" {
		words[0] = printable(name)
	}
	if severity := a.Labels["severity"]; severity != "" {
		words = append(words, "("+printable(severity)+")")
	}
	for _, label := range []string{"throttle_name", "error_type", "window", "instance"} {
		if value := a.Labels[label]; value != "" {
			words = append(words, printable(value))
		}
	}
	return strings.Join(words, " ")
}

// printable returns the first maxLabel characters of text, with control characters replaced. So a
// sender of alerts cannot forge lines or control the terminal.
func printable(text string) string {
	shown := 0
	for i := range text {
		if shown++; shown > maxLabel {
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
