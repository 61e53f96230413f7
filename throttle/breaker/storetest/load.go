package storetest

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/spillway-go/spillway/throttle/breaker/store"
)

func loadCases() []testCase {
	return []testCase{
		{"any shards in any order", anyShards},
		{"no shards", noShards},
		{"the same shard twice", sameShardTwice},
		{"empty shards", emptyShards},
		{"deleted records are gone", shardCase(edits(put(home, 1, "a"), put(home, 2, "b"), put(home, 3, "c")), edits(drop(home, 2)).by(1),
			edits(put(home, 2, "again"), drop(home, 1)))},
	}
}

func allShards() []int {
	all := make([]int, store.NumShards)
	for i := range all {
		all[i] = i
	}
	return all
}

func (r *fixture) fillShards() [store.NumShards]store.Version {
	r.Helper()
	var versions [store.NumShards]store.Version
	for i := range versions {
		versions[i] = r.write(r.Store, i, put(i, 1, fmt.Sprintf("one of %d", i)), put(i, 2, fmt.Sprintf("two of %d", i)))
	}
	return versions
}

func anyShards(r *fixture) {
	versions := r.fillShards()
	random := rand.New(rand.NewPCG(8, 1))
	all := allShards()
	other := r.Handle()
	for _, n := range []int{1, 2, 3, 17, 40, store.NumShards - 1, store.NumShards} {
		random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		for i, s := range r.load(other, all[:n]...) {
			if s.Version != versions[i] {
				r.Errorf("Load(%v), shard %d: got version %+v, want %+v", all[:n], i, s.Version, versions[i])
			}
			r.expectRecords(s, texts(i, map[int]string{1: fmt.Sprintf("one of %d", i), 2: fmt.Sprintf("two of %d", i)}))
		}
	}
}

func noShards(r *fixture) {
	r.fillShards()
	for _, none := range [][]int{nil, {}} {
		r.load(r.Store, none...) // which expects no shards
	}
}

func sameShardTwice(r *fixture) {
	v := r.write(r.Store, 6, put(6, 1, "x"))
	for _, s := range r.load(r.Store, 6, 8, 6, 6) {
		if s.Index == 6 {
			r.expectRecords(s, texts(6, map[int]string{1: "x"}))
		}
		if s.Index == 6 && s.Version != v {
			r.Errorf("Load([6 8 6 6]), shard 6: got version %+v, want %+v", s.Version, v)
		}
	}
}

func emptyShards(r *fixture) {
	r.write(r.Store, 1, put(1, 1, "x"))
	r.write(r.Store, 1, drop(1, 1))
	v := r.write(r.Store, 2, put(2, 1, "y"))
	loaded := r.load(r.Handle(), 0, 1, 2, 3)
	for i, want := range []store.Version{0: {}, 1: {Epoch: loaded[1].Version.Epoch, Number: 2}, 2: v, 3: {}} {
		if loaded[i].Version != want {
			r.Errorf("Load([0 1 2 3]), shard %d: got version %+v, want %+v", i, loaded[i].Version, want)
		}
		if i != 2 {
			r.expectRecords(loaded[i], nil)
		}
	}
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

// namesOfAnyBytes uses record IDs of 32 equal bytes, from 0x00 to 0xFF.
func namesOfAnyBytes(r *fixture) {
	want := map[int]map[store.RecordID][]byte{}
	for b := range 256 {
		var id store.RecordID
		for i := range id {
			id[i] = byte(b)
		}
		shard := id.Shard()
		if want[shard] == nil {
			want[shard] = map[store.RecordID][]byte{}
		}
		want[shard][id] = []byte{byte(b)}
		r.write(r.Store, shard, store.Change{ID: id, Data: []byte{byte(b)}})
	}
	for i, s := range r.load(r.Handle(), allShards()...) {
		r.expectRecords(s, want[i])
	}
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
