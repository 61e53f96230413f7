package otelthrottle

import (
	"cmp"
	"encoding/hex"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"go.opentelemetry.io/otel/attribute"

	"github.com/spillway-go/spillway/throttle/breaker"
)

// longestKeyLabel is how many bytes of a tenant or a key are told. URLs fit; what is longer is no label.
const longestKeyLabel = 128

// newer reports whether a view of a circuit is newer than another one. From open to half-open the generation stays.
func newer(a, b breaker.Status) bool {
	return cmp.Or(cmp.Compare(a.Generation, b.Generation), a.ChangedAt.Compare(b.ChangedAt)) > 0
}

// gravest returns the circuits that are not closed and matter most, at most so many: the disabled first, which need somebody, then the open
// and the half-open, of each the last to change first. It is given what each manager of a name sees.
func gravest(seen [][]breaker.Status, limit int) []breaker.Status {
	all := slices.DeleteFunc(together(seen), func(s breaker.Status) bool { return s.State == breaker.Closed })
	slices.SortFunc(all, func(a, b breaker.Status) int {
		return cmp.Or(
			cmp.Compare(b.State.Gravity(), a.State.Gravity()),
			b.ChangedAt.Compare(a.ChangedAt),
			strings.Compare(a.Key.Tenant, b.Key.Tenant),
			strings.Compare(a.Key.ID, b.Key.ID),
		)
	})
	return all[:min(limit, len(all))]
}

// together returns every circuit once. Of several views of one circuit the newest counts, also if it is the one of a closed circuit.
func together(seen [][]breaker.Status) []breaker.Status {
	if len(seen) == 1 {
		return slices.Clone(seen[0])
	}
	newest := map[breaker.Key]breaker.Status{}
	for _, list := range seen {
		for _, s := range list {
			if known, ok := newest[s.Key]; !ok || newer(s, known) {
				newest[s.Key] = s
			}
		}
	}
	return slices.Collect(maps.Values(newest))
}

// keyAttributes name a circuit.
func keyAttributes(k breaker.Key) []attribute.KeyValue {
	return []attribute.KeyValue{
		KeyBreakerTenant.String(keyLabel(k.Tenant, k)), KeyBreakerKey.String(keyLabel(k.ID, k)),
	}
}

// keyLabel makes a part of a key fit for exporters: valid UTF-8 of a sane length. What is changed ends with a fingerprint of the key, so
// that two keys that begin alike do not become one.
func keyLabel(part string, k breaker.Key) string {
	if len(part) <= longestKeyLabel && utf8.ValidString(part) {
		return part
	}
	id := k.RecordID()
	ending := "…" + hex.EncodeToString(id[:4])
	label := labelName(part[:min(len(part), longestKeyLabel)])
	cut := min(len(label), longestKeyLabel-len(ending))
	for cut < len(label) && !utf8.RuneStart(label[cut]) {
		cut--
	}
	return label[:cut] + ending
}
