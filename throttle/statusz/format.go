package statusz

import (
	"fmt"
	"mime"
	"net/http"
	"strconv"
	"strings"
)

// format is what a request asks for. Of formats that are as welcome, the first is taken.
type format int

const (
	formatHTML format = iota
	formatJSON
	formatStream

	numFormats = iota
)

func (f format) contentType() string {
	return [numFormats]string{"text/html; charset=utf-8", "application/json; charset=utf-8", "text/event-stream; charset=utf-8"}[f]
}

// formatOf returns what ?format= says, or else the Accept header, or else HTML.
func formatOf(r *http.Request) (format, error) {
	query := r.URL.Query()
	if !query.Has("format") {
		return accepted(r.Header.Values("Accept")), nil
	}
	word := query.Get("format")
	switch word {
	case "html", "":
		return formatHTML, nil
	case "json":
		return formatJSON, nil
	case "stream":
		return formatStream, nil
	}
	return 0, fmt.Errorf("statusz: format is %.40q: want html, json or stream", word)
}

// historyOf returns whether ?history= asks for the history.
func historyOf(r *http.Request) (bool, error) {
	query := r.URL.Query()
	if !query.Has("history") {
		return false, nil
	}
	word := query.Get("history")
	wanted, err := strconv.ParseBool(word)
	if err != nil {
		return false, fmt.Errorf("statusz: history is %.40q: want 1 or 0", word)
	}
	return wanted, nil
}

// accepted returns the format that the Accept header likes best. Of two that it likes as much, one that it names goes before one that
// it only lets pass: "application/json, */*" means JSON.
func accepted(header []string) format {
	var qualities, closeness [numFormats]float64
	for _, item := range strings.Split(strings.Join(header, ","), ",") {
		kind, params, err := mime.ParseMediaType(item)
		if err != nil {
			continue
		}
		quality := 1.0
		if q, err := strconv.ParseFloat(params["q"], 64); err == nil && q >= 0 && q <= 1 {
			quality = q
		}
		for f := range format(numFormats) {
			if near := f.closeness(kind); near > closeness[f] {
				qualities[f], closeness[f] = quality, near
			}
		}
	}
	best := formatHTML
	for f := range format(numFormats) {
		if qualities[f] > qualities[best] || qualities[f] == qualities[best] && closeness[f] > closeness[best] {
			best = f
		}
	}
	return best
}

// closeness says how exactly a media range means f: 3 if it names it, 0 if it means something else.
func (f format) closeness(mediaRange string) float64 {
	own, _, _ := strings.Cut(f.contentType(), ";")
	kind, _, _ := strings.Cut(own, "/")
	switch mediaRange {
	case own:
		return 3
	case kind + "/*":
		return 2
	case "*/*":
		return 1
	}
	return 0
}
