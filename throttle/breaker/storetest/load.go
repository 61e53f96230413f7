package storetest

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/spillway-go/spillway/throttle/breaker/store"
)

func loadCases() []testCase {
	return []testCase{
		{"any shards in any order", anyShards},
		{"no shards", noShards},
		{"the same shard twice", sameShardTwice},
		{"empty shards", emptyShards},
		{"deleted records are gone", deletedAreGone},
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

func deletedAreGone(r *fixture) {
	const shard = 13
	other := r.Handle()
	r.write(r.Store, shard, put(shard, 1, "a"), put(shard, 2, "b"), put(shard, 3, "c"))
	r.write(other, shard, drop(shard, 2))
	r.expectRecords(r.shard(r.Store, shard), texts(shard, map[int]string{1: "a", 3: "c"}))
	r.write(r.Store, shard, put(shard, 2, "again"), drop(shard, 1))
	r.expectRecords(r.shard(other, shard), texts(shard, map[int]string{2: "again", 3: "c"}))
}

func dataCases() []testCase {
	return []testCase{
		{"is returned unchanged", dataComesBack},
		{"two megabytes", dataIsLarge},
		{"record IDs of any bytes", namesOfAnyBytes},
		{"record IDs that differ in one byte", namesDiffer},
	}
}

// oddData returns data that some encodings, drivers and databases change.
func oddData() map[string]string {
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	return map[string]string{
		"empty data":                  "",
		"one NUL":                     "\x00",
		"NUL in the middle":           "a\x00b",
		"NUL at the end":              "ab\x00",
		"invalid UTF-8":               "\xc3\x28 \xed\xa0\x80 \xfe",
		"0xFF":                        strings.Repeat("\xff", 33),
		"every byte":                  string(every),
		"JSON":                        `{"v":1,"id":"https://x:8443/h?a=b&c=<d>","trips":9007199254740993,"failures":0.1}` + "\n",
		"JSON that has other forms":   ` { "b" : 1.0 , "a" : "\u00e9" , "b" : 1e0 } `,
		"quotes and escapes":          `'"\\'; -- %s %% $1 ? :name \x41 \n`,
		"spaces around":               "  x \t\r\n",
		"space":                       " ",
		"a number":                    "00012.50",
		"characters of four bytes":    "😀\U0010FFFF",
		"the word null":               "null",
		"hex as PostgreSQL writes it": `\x616263`,
		"compresses well":             strings.Repeat("spillway", 4096),
	}
}

func dataComesBack(r *fixture) {
	const shard = 17
	hard := oddData()
	for _, name := range slices.Sorted(maps.Keys(hard)) {
		text := hard[name]
		want := texts(shard, map[int]string{1: text, 2: "beside"})
		r.write(r.Store, shard, put(shard, 1, text), put(shard, 2, "beside"))
		shardNow := r.shard(r.Handle(), shard)
		if _, ok := contents(shardNow)[idIn(shard, 1)]; !ok {
			r.Errorf("Apply with %s (%s): got no record afterwards, want the record: only nil Data deletes", name, excerpt([]byte(text)))
		}
		r.expectRecords(shardNow, want)
		r.write(r.Store, shard, put(shard, 1, "other"))
	}
}

func dataIsLarge(r *fixture) {
	const shard, size = 19, 2 << 20
	random := rand.New(rand.NewPCG(8, 2))
	data := make([]byte, size)
	for i := range data {
		data[i] = byte(random.Uint32())
	}
	id := idIn(shard, 1)
	r.write(r.Store, shard, store.Change{ID: id, Data: data}, put(shard, 2, "small"))
	want := texts(shard, map[int]string{2: "small"})
	want[id] = data
	r.expectRecords(r.shard(r.Handle(), shard), want)
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

// namesDiffer uses record IDs that are equal if a store cuts, pads, trims or folds them.
func namesDiffer(r *fixture) {
	const shard = 1
	var changes []store.Change
	want := map[store.RecordID][]byte{}
	for i := 2; i < len(store.RecordID{}); i++ {
		for _, b := range []byte{0x00, ' ', 'a', 'A', 0xe4, 0xff} {
			id := store.RecordID{0, shard, 2: 'k'}
			id[i] = b
			if _, ok := want[id]; !ok {
				want[id] = []byte{byte(i), b}
				changes = append(changes, store.Change{ID: id, Data: want[id]})
			}
		}
	}
	r.write(r.Store, shard, changes...)
	r.expectRecords(r.shard(r.Handle(), shard), want)
	id := store.RecordID{0, shard, 2: 'k', 31: 'a'}
	delete(want, id)
	r.write(r.Store, shard, store.Change{ID: id})
	r.expectRecords(r.shard(r.Handle(), shard), want)
}
