package storetest

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/spillway-go/spillway/throttle/breaker/store"
)

func dataCases() []testCase {
	return []testCase{
		{"comes back as it was written", dataComesBack},
		{"of two megabytes", dataIsLarge},
		{"names of any bytes", namesOfAnyBytes},
		{"names that differ in one byte", namesDiffer},
	}
}

// awkward is data that some encodings, drivers and databases change.
func awkward() map[string]string {
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	return map[string]string{
		"empty, which is not deleted": "",
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

func dataComesBack(r *rig) {
	const shard = 17
	hard := awkward()
	for _, name := range slices.Sorted(maps.Keys(hard)) {
		text := hard[name]
		want := texts(shard, map[int]string{1: text, 2: "beside"})
		r.write(r.Store, shard, put(shard, 1, text), put(shard, 2, "beside"))
		shardNow := r.shard(r.Handle(), shard)
		if _, ok := contents(shardNow)[idIn(shard, 1)]; !ok {
			r.Errorf("data: %s (%s): the record is gone: only nil Data deletes", name, excerpt([]byte(text)))
		}
		r.expectRecords(shardNow, want)
		r.write(r.Store, shard, put(shard, 1, "other"))
	}
}

func dataIsLarge(r *rig) {
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

// namesOfAnyBytes has names of 32 times the same byte, 0x00 to 0xFF, each in its shard.
func namesOfAnyBytes(r *rig) {
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

// namesDiffer has names that are equal to a store which cuts, pads, trims or folds them.
func namesDiffer(r *rig) {
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
