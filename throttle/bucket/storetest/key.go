package storetest

import (
	"fmt"
	"strings"

	"github.com/spillway-go/spillway/throttle/bucket"
)

func keyCases() []testCase {
	return []testCase{
		{"of any bytes are apart", keysOfAnyBytes},
		{"long ones are apart", keysThatAreLong},
		{"many are apart", manyKeys},
	}
}

// apart empties one bucket after the other. None may be touched by what was done to those before.
func (r *rig) apart(keys []string) {
	r.Helper()
	l := lasting(2, bucket.Continuous)
	r.about = "a bucket beside others whose keys are much like its own: "
	for _, key := range keys {
		r.expect(fmt.Sprintf("key %.60q, whose bucket nobody has used", key), r.take(r.Store, key, l, 1, 2), 2, 0)
	}
	other := r.Handle()
	for _, key := range keys {
		r.expect(fmt.Sprintf("key %.60q, whose bucket is empty", key), r.take(other, key, l, 1, 1), 0, 0)
	}
	for i, key := range keys {
		if i%2 == 0 {
			r.giveBack(other, key, l, 1)
		} else {
			r.reset(other, key)
		}
	}
	for i, key := range keys {
		want := int64(1 + i%2)
		r.expect(fmt.Sprintf("key %.60q, to which %d were returned", key, want), r.take(r.Store, key, l, 1, 2), want, 0)
	}
	for _, key := range keys {
		r.reset(r.Store, key)
	}
}

func keysOfAnyBytes(r *rig) {
	keys := []string{""}
	for _, odd := range []string{
		"k", "K", "k ", "k  ", " k", "k\t", "k\n", "k\x00", "k\x00\x00", "\x00", "\x00k", "\xff", "\xfe\xff", "\xc3\x28", "k\xff", "k\xfe",
		"ß", "ss", "SS", "é", "e\u0301", "É", "ı", "i", "İ", "I", "ﬁ", "fi", "\ufeffk", "\u200bk", "👍", "'", `"`, "`", `\`, `\'`, "'; DROP TABLE x; --", "?", "$1", ":1", "@p1",
		"%", "_", "%s", "%00", "{k}", "{}", "}", "{ns}", "*", "[k]", "k:k", ":", "/", "#", "+", "%2B", "a=b&c", "../k", "NULL", "0", "00", "1e0", "1",
	} {
		keys = append(keys, r.key(odd), odd+r.nonce)
	}
	r.reset(r.Store, "")
	r.apart(keys)
}

// keysThatAreLong are as long as columns, index entries and hashes like to be.
func keysThatAreLong(r *rig) {
	var keys []string
	for _, n := range []int{127, 128, 129, 159, 160, 161, 190, 191, 192, 193, 254, 255, 256, 257, 1024, 10_000} {
		start := r.key(strings.Repeat("k", n-len(r.key("x"))))
		keys = append(keys, start+"k", start+"l", start+" ", start+"\x00", start+"\xff")
	}
	r.apart(keys)
}

func manyKeys(r *rig) {
	keys := make([]string, 150)
	for i := range keys {
		keys[i] = r.key(fmt.Sprint(i))
	}
	r.apart(keys)
}
