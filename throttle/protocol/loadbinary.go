package protocol

import (
	"encoding/binary"
	"math"

	"github.com/spillway-go/spillway/throttle"
)

// The fields of xds.data.orca.v3.OrcaLoadReport that a load report has, as keys of the binary form of
// protobuf: the number of the field, and the type on the wire in the lowest three bits.
const (
	keyNamedMetrics = 8<<3 | wireBytes
	keyUtilization  = 9<<3 | wireFixed64
	// The fields of an entry of named_metrics.
	keyName  = 1<<3 | wireBytes
	keyValue = 2<<3 | wireFixed64
)

// The types on the wire.
const (
	wireVarint  = 0
	wireFixed64 = 1
	wireBytes   = 2
	wireFixed32 = 5
	wireMask    = 7
)

// FormatBinaryLoad returns a report as the value of a [LoadTrailer]. GRPC encodes it in base64.
func FormatBinaryLoad(r throttle.LoadReport) string {
	b := make([]byte, 0, 128)
	eachMetric(&r, func(name, word string, x float64) {
		if name == "" {
			b = appendDouble(append(b, keyUtilization), x)
			return
		}
		n := len(name) + len(word) // less than 100
		b = append(b, keyNamedMetrics, byte(n+11), keyName, byte(n))
		b = append(append(b, name...), word...)
		b = appendDouble(append(b, keyValue), x)
	})
	return string(b)
}

func appendDouble(b []byte, x float64) []byte {
	return binary.LittleEndian.AppendUint64(b, math.Float64bits(x))
}

// ParseBinaryLoad is [ParseLoad] for the values of a [LoadTrailer], without their base64.
func ParseBinaryLoad(values []string) (throttle.LoadReport, bool) {
	if len(values) != 1 || len(values[0]) > longestLoad {
		return throttle.LoadReport{}, false
	}
	var l loadParser
	l.parseBinary(values[0])
	return l.result()
}

func (l *loadParser) parseBinary(message string) {
	for message != "" && !l.bad {
		var f protoField
		f, message, l.bad = nextField(message)
		switch {
		case l.bad:
		case f.key == keyUtilization:
			l.set("", f.double())
		case f.key == keyNamedMetrics:
			l.parseEntry(f.bytes)
		}
	}
}

// parseEntry parses an entry of named_metrics. A field that it lacks is empty or 0.
func (l *loadParser) parseEntry(entry string) {
	var name string
	var value float64
	for entry != "" {
		var f protoField
		if f, entry, l.bad = nextField(entry); l.bad {
			return
		}
		switch f.key {
		case keyName:
			name = f.bytes
		case keyValue:
			value = f.double()
		}
	}
	if name != "" && isLoadMetric(name) {
		l.set(name, value)
	}
}

type protoField struct {
	key   uint64
	bytes string // of the value; empty for a varint
}

func (f *protoField) double() float64 {
	var b [8]byte
	copy(b[:], f.bytes)
	return math.Float64frombits(binary.LittleEndian.Uint64(b[:]))
}

// nextField returns the first field of a message, and the rest of the message. Bad means that it is not
// valid. Groups are not: nothing has sent them for long.
func nextField(message string) (f protoField, rest string, bad bool) {
	f.key, rest, bad = nextVarint(message)
	n := uint64(0)
	switch f.key & wireMask {
	case wireVarint:
		_, rest, bad = nextVarint(rest)
	case wireFixed64:
		n = 8
	case wireFixed32:
		n = 4
	case wireBytes:
		n, rest, bad = nextVarint(rest)
	default:
		bad = true
	}
	if bad || n > uint64(len(rest)) {
		return protoField{}, "", true
	}
	f.bytes = rest[:n]
	return f, rest[n:], false
}

func nextVarint(message string) (x uint64, rest string, bad bool) {
	for i := 0; i < len(message) && i < binary.MaxVarintLen64; i++ {
		x |= uint64(message[i]&0x7f) << (7 * i)
		if message[i] < 0x80 {
			return x, message[i+1:], false
		}
	}
	return 0, "", true
}
