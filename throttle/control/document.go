package control

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/backoff"
	"github.com/spillway-go/spillway/throttle/breaker"
	"github.com/spillway-go/spillway/throttle/bucket"
	"github.com/spillway-go/spillway/throttle/retry"
)

// MaxDocument is the longest document that [ParseDocument] accepts, in bytes.
const MaxDocument = 1 << 20

// Document is the settings of one source: for each name those that replace the settings of the
// code. A name that is not in it has the settings of the code. As JSON:
//
//	{
//	  "throttles": {
//	    "stock":  {"mode": "off", "until": "2026-11-23T18:00:00Z", "by": "ana", "reason": "INC-7"},
//	    "search": {"ratio": 3, "slow": "200ms", "optional": true}
//	  },
//	  "breakers": {"payments": {"mode": "shadow"}},
//	  "buckets":  {"api": {"capacity": 50, "refill": 100, "period": "1s"}},
//	  "backoffs": {"table": {"max_interval": "5s"}},
//	  "retries":  {"orders": {"mode": "off"}}
//	}
//
// A name stands for all of its throttles, also for the members of a [throttle.Group], for those
// that exist and for those that are made later.
//
// One document may be for many services: see [Service].
type Document struct {
	Throttles map[string]*Throttle `json:"throttles,omitempty"`
	Breakers  map[string]*Breaker  `json:"breakers,omitempty"`
	Buckets   map[string]*Bucket   `json:"buckets,omitempty"`
	Backoffs  map[string]*Backoff  `json:"backoffs,omitempty"`
	Retries   map[string]*Retry    `json:"retries,omitempty"`
	// Services are lines for some services.
	Services []Service `json:"services,omitempty"`
}

// Throttle is the line of a throttle.
type Throttle struct {
	Terms
	throttle.Patch
}

func (l *Throttle) patch() throttle.Patch { return l.Patch }

// Breaker is the line of a breaker. Its mode also replaces that of each tenant.
type Breaker struct {
	Terms
	breaker.Patch
}

func (l *Breaker) patch() breaker.Patch { return l.Patch }

// Bucket is the line of a bucket: the limit of the keys for which LimitFor returns no limit of its own.
type Bucket struct {
	Terms
	bucket.Patch
}

func (l *Bucket) patch() bucket.Patch { return l.Patch }

// Backoff is the line of a backoff.
type Backoff struct {
	Terms
	backoff.Patch
}

func (l *Backoff) patch() backoff.Patch { return l.Patch }

// Retry is the line of a retrier. Its mode is "enforce", or "off" for no retries.
type Retry struct {
	Terms
	retry.Patch
}

func (l *Retry) patch() retry.Patch { return l.Patch }

// ParseDocument reads a document from JSON. Unknown and repeated fields and names, wrong values, and
// text after the document are errors with the number of the line. Part of a document is never a
// valid document.
func ParseDocument(data []byte) (Document, error) {
	var d Document
	if len(data) > MaxDocument {
		return d, fmt.Errorf("control: document has more than %d bytes", MaxDocument)
	}
	if !bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) {
		return d, fmt.Errorf("control: document is not a JSON object, it begins with %.12q: want one such as {} or {\"throttles\": {...}}", data)
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(&d)
	if err == nil {
		if _, err = decoder.Token(); err == nil {
			err = errors.New("text after the end of the document")
		}
	}
	if errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		err = checkRepeated(data)
	}
	if err != nil {
		return Document{}, fmt.Errorf("control: document, line %d: %w", lineOf(data, err, decoder.InputOffset()), err)
	}
	if err := d.checkServices(); err != nil {
		return Document{}, err
	}
	return d, nil
}

// lineOf returns the line of an error, whose position is that of the decoder if it has none of its
// own.
func lineOf(data []byte, err error, offset int64) int {
	var syntax *json.SyntaxError
	var wrong *json.UnmarshalTypeError
	var repeated *repeatedError
	switch {
	case errors.As(err, &syntax):
		offset = syntax.Offset
	case errors.As(err, &wrong):
		offset = wrong.Offset
	case errors.As(err, &repeated):
		offset = repeated.offset
	case errors.Is(err, io.ErrUnexpectedEOF):
		offset = int64(len(data))
	default:
		offset = wrongLine(data, offset, &Document{})
	}
	return 1 + bytes.Count(data[:min(offset, int64(len(data)))], []byte("\n"))
}

// wrongLine returns the position of the first line that cannot be decoded, for an error of encoding/json
// that has none. If there is no such line, it returns end.
func wrongLine(data []byte, end int64, into any) int64 {
	decoder := json.NewDecoder(bytes.NewReader(data))
	var path []string // the kind and the name
	for depth := 0; ; {
		token, err := decoder.Token()
		switch {
		case err != nil:
			return end
		case token == json.Delim('{'):
			depth++
			continue
		case token == json.Delim('}'):
			depth--
			continue
		case depth == 0: // text after the document
			return end
		case token == nil: // a kind is null, so it has no lines
			continue
		}
		path = append(path[:depth-1], fmt.Sprint(token))
		if depth == 1 && path[0] == "services" {
			if offset, found := wrongService(decoder); found {
				return offset
			}
			continue
		}
		if depth == 1 && isValid(path[0], map[string]any{}, into) {
			continue
		}
		var l json.RawMessage
		if depth == 1 || decoder.Decode(&l) != nil || !isValid(path[0], map[string]any{path[1]: l}, into) {
			return decoder.InputOffset()
		}
	}
}

func isValid(kind string, lines map[string]any, into any) bool {
	text, err := json.Marshal(map[string]any{kind: lines})
	return err == nil && isLike(text, into)
}

func isLike(text []byte, into any) bool {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	return decoder.Decode(reflect.New(reflect.TypeOf(into).Elem()).Interface()) == nil
}

// wrongService returns the position of the first line in the list of services that cannot be decoded.
func wrongService(decoder *json.Decoder) (offset int64, found bool) {
	switch start, err := decoder.Token(); {
	case err == nil && start == nil: // null
		return 0, false
	case err != nil, start != json.Delim('['):
		return decoder.InputOffset(), true
	}
	for decoder.More() {
		var text json.RawMessage
		if decoder.Decode(&text) != nil {
			return decoder.InputOffset(), true
		}
		if !isLike(text, &Service{}) {
			begins, length := decoder.InputOffset()-int64(len(text)), int64(len(text))
			return begins + wrongLine(text, length, &Service{}), true
		}
	}
	_, err := decoder.Token()
	return decoder.InputOffset(), err != nil
}

type repeatedError struct {
	name   string
	offset int64
}

func (e *repeatedError) Error() string { return fmt.Sprintf("%.80q is there twice", e.name) }

// namesLevel is where a document, or a part of one in an array, has names of throttles or of labels.
const namesLevel = 1

type opened struct {
	fields map[string]bool // nil: an array
	level  int             // 0: a document, or a part in an array
}

// checkRepeated returns an error if an object has two fields of one name. encoding/json uses the
// last. It ignores the case of fields, but not that of names.
func checkRepeated(data []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	open := []opened{{}} // as an array with one document
	isKey := false
	for {
		token, err := decoder.Token()
		if err != nil {
			return nil // the end of a document that is valid
		}
		switch value := token.(type) {
		case json.Delim:
			switch in := open[len(open)-1]; {
			case value == '{' && in.fields != nil:
				open = append(open, opened{map[string]bool{}, in.level + 1})
			case value == '{':
				open = append(open, opened{fields: map[string]bool{}})
			case value == '[':
				open = append(open, opened{})
			default:
				open = open[:len(open)-1]
			}
			isKey = open[len(open)-1].fields != nil
			continue
		case string:
			if isKey {
				folded, in := value, open[len(open)-1]
				if in.level != namesLevel {
					folded = strings.ToLower(strings.ToUpper(value)) // as encoding/json: the long s is an s
				}
				if in.fields[folded] {
					return &repeatedError{value, decoder.InputOffset()}
				}
				in.fields[folded] = true
			}
		}
		isKey = !isKey && open[len(open)-1].fields != nil
	}
}
