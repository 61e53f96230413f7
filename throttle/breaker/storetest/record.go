package storetest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strconv"

	"github.com/spillway-go/spillway/throttle/breaker/store"
	kit "github.com/spillway-go/spillway/throttle/internal/storetest"
)

// idIn returns the nth name of a record that lies in the shard.
func idIn(shard, n int) store.RecordID {
	var id store.RecordID
	binary.BigEndian.PutUint16(id[:], uint16(shard))
	binary.BigEndian.PutUint64(id[len(id)-8:], uint64(n))
	return id
}

// put is a change that writes text into the nth record of the shard.
func put(shard, n int, text string) store.Change {
	return store.Change{ID: idIn(shard, n), Data: []byte(text)}
}

// drop is a change that deletes the nth record of the shard.
func drop(shard, n int) store.Change {
	return store.Change{ID: idIn(shard, n)}
}

// contents are the records of a shard by name.
func contents(s store.Shard) map[store.RecordID][]byte {
	records := make(map[store.RecordID][]byte, len(s.Records))
	for _, r := range s.Records {
		records[r.ID] = r.Data
	}
	return records
}

// texts are records of the shard by number, as expectRecords wants them.
func texts(shard int, byNumber map[int]string) map[store.RecordID][]byte {
	records := make(map[store.RecordID][]byte, len(byNumber))
	for n, text := range byNumber {
		records[idIn(shard, n)] = []byte(text)
	}
	return records
}

// expectRecords wants a shard to hold these records, no others, and none twice.
func (r *rig) expectRecords(s store.Shard, want map[store.RecordID][]byte) {
	r.Helper()
	got := contents(s)
	if len(got) != len(s.Records) {
		r.Errorf("shard %d: Load returned %d records with only %d different names", s.Index, len(s.Records), len(got))
	}
	for id, data := range want {
		if stored, ok := got[id]; !ok {
			r.Errorf("shard %d, record %x: it is not there, want %s", s.Index, id, excerpt(data))
		} else if !bytes.Equal(stored, data) {
			r.Errorf("shard %d, record %x: got %s, want the bytes that were written, %s", s.Index, id, excerpt(stored), excerpt(data))
		}
	}
	for id, data := range got {
		if _, ok := want[id]; !ok {
			r.Errorf("shard %d, record %x: got %s, want no such record", s.Index, id, excerpt(data))
		}
	}
}

// excerpt shows data, but not two megabytes of it.
func excerpt(data []byte) string {
	const most = 40
	if len(data) <= most {
		return fmt.Sprintf("%q", data)
	}
	return fmt.Sprintf("%q... (%d bytes)", data[:most], len(data))
}

// byIndex sorts shards by their index. It wants each that was asked for, at least once and not more often than asked, and no other.
func byIndex(asked []int, loaded []store.Shard) (map[int]store.Shard, error) {
	left := map[int]int{}
	for _, i := range asked {
		left[i]++
	}
	shards := map[int]store.Shard{}
	for _, s := range loaded {
		if left[s.Index]--; left[s.Index] < 0 {
			return nil, kit.Breach("got shard %d more often than it was asked for, in %v", s.Index, asked)
		}
		shards[s.Index] = s
	}
	for i := range left {
		if _, ok := shards[i]; !ok {
			return nil, kit.Breach("got no shard %d, which is among %v: one that holds nothing is returned too", i, asked)
		}
	}
	return shards, nil
}

// number reads the number in a record, 0 if there is none.
func number(s store.Shard, n int) (int, error) {
	data, ok := contents(s)[idIn(s.Index, n)]
	if !ok {
		return 0, nil
	}
	return strconv.Atoi(string(data))
}
