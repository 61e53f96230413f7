package otelthrottle

import (
	"encoding/hex"
	"hash/fnv"
	"sync"
	"unicode/utf8"

	"go.opentelemetry.io/otel/attribute"

	"github.com/spillway-go/spillway/otelthrottle/semconv"
	"github.com/spillway-go/spillway/throttle"
)

// maxGroupDetail is the highest limit of WithGroupDetail. A throttle with four priorities starts
// with 12 series of throttle.calls, and the SDK keeps 2000 series of an instrument.
const maxGroupDetail = 100

// groupKeys selects the keys of groups that metrics have: the first max keys of each name.
type groupKeys struct {
	max int

	mu   sync.Mutex
	keys map[groupKey]struct{}
	used map[string]int // keys of each name
}

type groupKey struct{ name, key string }

func newGroupKeys(limit int) *groupKeys {
	return &groupKeys{max: limit, keys: map[groupKey]struct{}{}, used: map[string]int{}}
}

// metricKey returns the key of the series of a throttle: its own, otherKeys beyond the limit, or
// nothing outside a group and without detail. It returns the same for a throttle each time.
func (g *groupKeys) metricKey(t *throttle.Throttle) string {
	if g.max == 0 || t.Key() == "" {
		return ""
	}
	k := groupKey{t.Name(), validGroupKey(t.Key())}
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, ok := g.keys[k]; !ok {
		if g.used[k.name] == g.max {
			return otherKeys
		}
		g.keys[k] = struct{}{}
		g.used[k.name]++
	}
	return k.key
}

// sourceName returns the name under which a throttle is registered. Throttles of one source name
// share their series.
func (g *groupKeys) sourceName(t *throttle.Throttle) string {
	name := validName(t.Name())
	if key := g.metricKey(t); key != "" {
		name += "\x00" + key
	}
	return name
}

// groupKeyAttribute returns the attribute throttle.key of a span or event, if the throttle is a
// member of a group.
func groupKeyAttribute(t *throttle.Throttle) (kv attribute.KeyValue, ok bool) {
	if t.Key() == "" {
		return kv, false
	}
	return semconv.KeyGroupKey.String(validGroupKey(t.Key())), true
}

func validGroupKey(key string) string {
	return validKey(key, func() string {
		h := fnv.New32a()
		_, _ = h.Write([]byte(key)) // never fails
		return hex.EncodeToString(h.Sum(nil))
	})
}

// maxKeyLength is the length in bytes up to which a key becomes an attribute as it is. URLs are
// usually shorter.
const maxKeyLength = 128

// validKey returns a key, or a part of one, as a valid attribute: UTF-8 of limited length. If that
// changes the key, the result ends with its hash, so that keys that begin alike stay different.
func validKey(key string, hash func() string) string {
	if len(key) <= maxKeyLength && utf8.ValidString(key) {
		return key
	}
	ending := "…" + hash()
	valid := validName(key[:min(len(key), maxKeyLength)])
	cut := min(len(valid), maxKeyLength-len(ending))
	for cut < len(valid) && !utf8.RuneStart(valid[cut]) {
		cut--
	}
	return valid[:cut] + ending
}
