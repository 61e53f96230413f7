package storetest

import (
	"bytes"
	"math/rand/v2"
	"strings"

	"github.com/spillway-go/spillway/throttle/breaker/store"
)

func loadCases() []testCase {
	return []testCase{
		{"any shards in any order", anyShards},
		{"empty shards", emptyShards},
		{"deleted records are gone", shardCase(edits(put(home, 1, "a"), put(home, 2, "b"), put(home, 3, "c")), edits(drop(home, 2)).by(1),
			edits(put(home, 2, "again"), drop(home, 1)))},
	}
}

// anyShards loads some shards, all, none, and one of them more than once.
func anyShards(r *fixture) {
	m, other, all := filledShards(r), r.Handle(), allShards()
	m.expect(other)
	m.expect(other, []int{}...)
	m.expect(other, 6, 8, 6, 6)
	random := rand.New(rand.NewPCG(8, 1))
	for _, n := range []int{1, 2, 3, 17, 40, store.NumShards - 1, store.NumShards} {
		random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		m.expect(other, all[:n]...)
	}
}

func emptyShards(r *fixture) {
	m := newShards(r)
	for _, c := range []store.Change{put(1, 1, "x"), drop(1, 1), put(2, 1, "y")} {
		m.apply(r.Store, edits(c))
	}
	m.expect(r.Handle(), 0, 1, 2, 3)
}

func dataCases() []testCase {
	return []testCase{
		{"is returned unchanged", shardCase(oddData()...)},
		{"two megabytes", shardCase(largeData())},
		{"record IDs of any bytes", namesOfAnyBytes},
		{"record IDs that differ in one byte", shardCase(similarNames()...)},
	}
}

// oddData returns data that some encodings, drivers and databases change.
func oddData() []edit {
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	var script []edit
	for _, text := range []string{
		"",
		"\x00",
		"a\x00b",
		"ab\x00",
		"\xc3\x28 \xed\xa0\x80 \xfe", // no UTF-8
		strings.Repeat("\xff", 33),
		string(every),
		`{"v":1,"id":"https://x:8443/h?a=b&c=<d>","trips":9007199254740993,"failures":0.1}` + "\n",
		` { "b" : 1.0 , "a" : "\u00e9" , "b" : 1e0 } `,
		`'"\\'; -- %s %% $1 ? :name \x41 \n`,
		"  x \t\r\n",
		" ",
		"00012.50",
		"😀\U0010FFFF",
		"null",
		`\x616263`, // as PostgreSQL writes bytes
		strings.Repeat("spillway", 4096),
	} {
		script = append(script, edits(put(home, 1, text), put(home, 2, "beside")), puts("other"))
	}
	return script
}

// largeData writes two megabytes of data that cannot be compressed.
func largeData() edit {
	const size = 2 << 20
	random, data := rand.New(rand.NewPCG(8, 2)), make([]byte, size)
	for i := range data {
		data[i] = byte(random.Uint32())
	}
	return edits(put(home, 1, string(data)), put(home, 2, "small"))
}

// namesOfAnyBytes are record IDs of 32 equal bytes, from 0x00 to 0xFF.
func namesOfAnyBytes(r *fixture) {
	m := newShards(r)
	for b := range 256 {
		id := store.RecordID(bytes.Repeat([]byte{byte(b)}, len(store.RecordID{})))
		m.apply(r.Store, edits(store.Change{ID: id, Data: []byte{byte(b)}}))
	}
	m.expect(r.Handle(), allShards()...)
}

// similarNames writes records whose IDs are equal if a store cuts, pads, trims or folds them, and deletes one.
func similarNames() []edit {
	var changes []store.Change
	seen := map[store.RecordID]bool{}
	for i := 2; i < len(store.RecordID{}); i++ {
		for _, b := range []byte{0x00, ' ', 'a', 'A', 0xe4, 0xff} {
			id := store.RecordID{0, home, 2: 'k'}
			if id[i] = b; !seen[id] {
				seen[id] = true
				changes = append(changes, store.Change{ID: id, Data: []byte{byte(i), b}})
			}
		}
	}
	return []edit{edits(changes...), edits(store.Change{ID: store.RecordID{0, home, 2: 'k', 31: 'a'}})}
}
