package protocol

import (
	"encoding/base64"
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"github.com/spillway-go/spillway/throttle"
)

// Load reports travel as those of ORCA, so that Envoy and the balancers of gRPC read them too. See
// docs/load-reports.md for the forms and examples.
const (
	// LoadHeader is the name of the HTTP header of a response that has a load report.
	LoadHeader = "Endpoint-Load-Metrics"
	// LoadTrailer is the name of the metadata with the binary form: in the trailer of a call of gRPC.
	LoadTrailer = "endpoint-load-metrics-bin"
)

const (
	// longestLoad bounds what is read. The longest report of this package is shorter.
	longestLoad = 1 << 10
	// Numbers travel in thousandths. A larger utilization says no more than this one.
	loadUnit        = 1000
	mostUtilization = 100
	mostAnswers     = 16

	applicationUtilization = "application_utilization"
	namedMetrics           = "named_metrics."
	overloadedMetric       = "spillway.overloaded"
	answersMetric          = "spillway.answers"
	shedMetric             = "spillway.shed." // and the word of a priority
)

// FormatLoad returns a report as the value of a [LoadHeader]:
//
//	TEXT application_utilization=2,named_metrics.spillway.overloaded=1,named_metrics.spillway.shed.low=0.75
func FormatLoad(r throttle.LoadReport) string {
	text := append(make([]byte, 0, 128), "TEXT"...)
	separator := byte(' ')
	eachMetric(&r, func(name, word string, x float64) {
		text = append(text, separator)
		if name == "" {
			text = append(text, applicationUtilization...)
		} else {
			text = append(append(append(text, namedMetrics...), name...), word...)
		}
		text = strconv.AppendFloat(append(text, '='), x, 'f', -1, 64)
		separator = ','
	})
	return string(text)
}

// eachMetric calls f with the metrics of a report, in the order in which they are sent. A name has two
// parts; that of the utilization is empty.
func eachMetric(r *throttle.LoadReport, f func(name, word string, x float64)) {
	if u := rounded(min(r.Utilization, mostUtilization)); u > 0 {
		f("", "", u)
	}
	overloaded := 0.0
	if r.Overloaded {
		overloaded = 1
	}
	f(overloadedMetric, "", overloaded)
	if n := min(r.Answers, mostAnswers); n > 1 {
		f(answersMetric, "", float64(n))
	}
	for p, share := range r.Shed {
		if share > 0 { // one that is not 0 is sent as such
			f(shedMetric, throttle.Priority(p).String(), rounded(min(max(share, 1.0/loadUnit), 1)))
		}
	}
}

// ParseLoad returns the report in the values of a [LoadHeader], in the forms TEXT, JSON or BIN. It returns
// false if there is not exactly one value, if that is longer than 1 KiB or not valid, or if it says
// nothing about an overload: other software sends such reports too. Numbers that are out of range become
// the nearest ones in range. The form TEXT of [FormatLoad] is parsed without an allocation.
func ParseLoad(values []string) (throttle.LoadReport, bool) {
	if len(values) != 1 || len(values[0]) > longestLoad {
		return throttle.LoadReport{}, false
	}
	form, text, _ := strings.Cut(values[0], " ")
	var l loadParser
	switch form {
	case "TEXT":
		l.parseText(text)
	case "JSON":
		l.parseJSON(text)
	case "BIN":
		binary, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
		l.bad = err != nil
		l.parseBinary(string(binary))
	}
	return l.result()
}

type loadParser struct {
	report throttle.LoadReport
	seen   uint32 // bits of the priorities, and of the constants below
	bad    bool   // not valid
}

const (
	seenOverloaded  = throttle.MaxPriorities
	seenUtilization = throttle.MaxPriorities + 1
	seenAnswers     = throttle.MaxPriorities + 2
)

func (l *loadParser) result() (throttle.LoadReport, bool) {
	if l.bad || l.seen&(1<<seenOverloaded) == 0 {
		return throttle.LoadReport{}, false
	}
	return l.report, true
}

// parseText parses pairs with commas between them. Envoy separates a name from its value by "=" or ":".
func (l *loadParser) parseText(text string) {
	for text != "" && !l.bad {
		var pair string
		pair, text, _ = strings.Cut(text, ",")
		i := strings.IndexAny(pair, "=:")
		if i < 0 {
			l.bad = true
			return
		}
		name, number := strings.TrimSpace(pair[:i]), strings.TrimSpace(pair[i+1:])
		if named, ok := strings.CutPrefix(name, namedMetrics); ok {
			l.setText(named, number)
		} else if name == applicationUtilization {
			l.setText("", number)
		}
	}
}

// setText sets a metric to the number in a text. Metrics of others may be anything.
func (l *loadParser) setText(name, number string) {
	if !isLoadMetric(name) {
		return
	}
	x, err := strconv.ParseFloat(number, 64)
	if err != nil {
		l.bad = true
		return
	}
	l.set(name, x)
}

// parseJSON parses the JSON form of the protobuf message, which has two spellings of each name.
func (l *loadParser) parseJSON(text string) {
	var m struct {
		Utilization *float64           `json:"application_utilization"`
		Camel       *float64           `json:"applicationUtilization"`
		Named       map[string]float64 `json:"named_metrics"`
		CamelNamed  map[string]float64 `json:"namedMetrics"`
	}
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		l.bad = true
		return
	}
	for _, u := range []*float64{m.Utilization, m.Camel} {
		if u != nil {
			l.set("", *u)
		}
	}
	for _, named := range []map[string]float64{m.Named, m.CamelNamed} {
		for name, x := range named {
			if isLoadMetric(name) {
				l.set(name, x)
			}
		}
	}
}

// isLoadMetric reports whether a named metric belongs to a report. The empty name is the utilization.
func isLoadMetric(name string) bool {
	return name == "" || name == overloadedMetric || name == answersMetric || strings.HasPrefix(name, shedMetric)
}

// set sets a metric that isLoadMetric. A report that has one twice, or a priority that does not exist, is
// not valid.
func (l *loadParser) set(name string, x float64) {
	bit := seenOverloaded
	switch word, isShed := strings.CutPrefix(name, shedMetric); {
	case name == "":
		bit = seenUtilization
		l.report.Utilization = min(max(x, 0), mostUtilization)
	case isShed:
		p, err := throttle.ParsePriority(word)
		l.bad = l.bad || err != nil
		bit = int(p)
		l.report.Shed[p] = min(max(x, 0), 1)
	case name == answersMetric:
		bit = seenAnswers
		l.report.Answers = int(min(max(x, 0), mostAnswers))
	default:
		l.report.Overloaded = x > 0
	}
	l.bad = l.bad || math.IsNaN(x) || math.IsInf(x, 0) || l.seen&(1<<bit) != 0
	l.seen |= 1 << bit
}

// rounded returns x in thousandths, and 0 for a negative number or NaN.
func rounded(x float64) float64 {
	if x > 0 {
		return math.Round(x*loadUnit) / loadUnit
	}
	return 0
}
