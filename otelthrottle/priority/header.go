package priority

import (
	"iter"
	"net/http"
	"strings"
)

// headerName is the name of the header with the baggage.
const headerName = "Baggage"

// header is the lines of a baggage header. It is edited as text. Other members then stay unchanged,
// in their places, even those that our propagator cannot parse.
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

// ambiguous reports whether receivers may read different priorities from the header: it names the
// priority more than once, or exceeds the limits.
func (h header) ambiguous() bool {
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
	_, count := h.priority()
	return members > maxMembers || count > 1
}

// priority returns the value of the last priority member, and the number of them. A member with an
// encoded key counts, but its value is empty.
func (h header) priority() (value string, count int) {
	for key, member := range h.members() {
		if !isPriority(key) {
			continue
		}
		count++
		if value = ""; key == BaggageKey {
			_, value = split(member)
		}
	}
	return value, count
}

// with returns the header as one line that has value as its only priority. If value is empty, or
// does not fit, the line has no priority. If changed is false, the header is already so.
func (h header) with(value string) (line string, changed bool) {
	current, count := h.priority()
	if count == 0 && value == "" || count == 1 && value != "" && current == value {
		return "", false
	}
	var others []string
	for key, member := range h.members() {
		if !isPriority(key) {
			others = append(others, member)
		}
	}
	line = strings.Join(others, ",")
	if value == "" {
		return line, true
	}
	with := strings.Join(append(others, BaggageKey+"="+value), ",")
	if len(others) < maxMembers && len(with) <= maxBytes {
		return with, true
	}
	return line, count > 0
}

// setHeader returns r with a baggage header whose only priority is value. It returns r itself if
// its header is already so, else a copy with a header of its own.
func setHeader(r *http.Request, value string) *http.Request {
	line, changed := header(r.Header.Values(headerName)).with(value)
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
