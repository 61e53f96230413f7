package priority

import (
	"iter"
	"net/http"
	"strings"
)

// headerName is the name of the header that carries baggage.
const headerName = "Baggage"

// A header is the lines of a baggage header as they stand. It is edited as text, so that other people's members stay as
// they are and where they are, even those that our propagator would not understand.
type header []string

// members yields the key and the text of each member, in order.
func (h header) members() iter.Seq2[string, string] {
	return func(yield func(key, member string) bool) {
		for _, line := range h {
			for member := range strings.SplitSeq(line, ",") {
				key, _ := split(member)
				if strings.TrimSpace(member) != "" && !yield(key, member) {
					return
				}
			}
		}
	}
}

// split returns the key and the value of a member, without its properties.
func split(member string) (key, value string) {
	member, _, _ = strings.Cut(member, ";")
	key, value, _ = strings.Cut(member, "=")
	return strings.TrimSpace(key), strings.TrimSpace(value)
}

// garbled reports whether receivers may disagree on what the header says: it names the priority more than once, or is
// beyond the limits.
func (h header) garbled() bool {
	size, members := len(h)-1, 0
	for _, line := range h {
		size += len(line)
	}
	if size > maxBytes {
		return true
	}
	for range h.members() {
		members++
	}
	_, times := h.word()
	return members > maxMembers || times > 1
}

// word returns what the header says about the priority, and how many times. A key in disguise says nothing, but counts.
func (h header) word() (word string, times int) {
	for key, member := range h.members() {
		if !isPriority(key) {
			continue
		}
		times++
		if word = ""; key == BaggageKey {
			_, word = split(member)
		}
	}
	return word, times
}

// say returns the header as one line that says word about the priority, or nothing if word is empty or does not fit, and
// whether that took a change. Without one there is no line.
func (h header) say(word string) (line string, changed bool) {
	said, times := h.word()
	if times == 0 && word == "" || times == 1 && word != "" && said == word {
		return "", false
	}
	var others []string
	for key, member := range h.members() {
		if !isPriority(key) {
			others = append(others, member)
		}
	}
	line = strings.Join(others, ",")
	if word == "" {
		return line, true
	}
	with := strings.Join(append(others, BaggageKey+"="+word), ",")
	if len(others) < maxMembers && len(with) <= maxBytes {
		return with, true
	}
	return line, times > 0
}

// tell returns r with a baggage header that says word about the priority: r itself if it does so already, else a copy with a
// header of its own.
func tell(r *http.Request, word string) *http.Request {
	line, changed := header(r.Header.Values(headerName)).say(word)
	if !changed {
		return r
	}
	r = r.WithContext(r.Context())
	if r.Header = r.Header.Clone(); r.Header == nil {
		r.Header = make(http.Header)
	}
	r.Header.Del(headerName)
	if line != "" {
		r.Header.Set(headerName, line)
	}
	return r
}
