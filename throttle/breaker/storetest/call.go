package storetest

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"strconv"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker/store"
	kit "github.com/spillway-go/spillway/throttle/internal/storetest"
)

// within calls a method with a context that ends after kit.Patience.
func within[Q, A any](r *fixture, call func(context.Context, Q) (A, error), q Q) (A, error) {
	ctx, cancel := context.WithTimeout(r.Context(), kit.Patience)
	defer cancel()
	return call(ctx, q)
}

func (r *fixture) campaign(s store.Store, owner string, ttl time.Duration) store.Lease {
	r.Helper()
	l, err := r.tryCampaign(s, owner, ttl)
	r.Must(err, "Campaign of %q for %v", owner, ttl)
	return l
}

func (r *fixture) tryCampaign(s store.Store, owner string, ttl time.Duration) (store.Lease, error) {
	l, err := within(r, s.Campaign, store.Candidate{Owner: owner, TTL: ttl})
	if err != nil {
		return l, err
	}
	return l, checkLease(l, owner, ttl)
}

// checkLease expects a current lease. A lease of the owner itself must not be longer than its TTL.
func checkLease(l store.Lease, owner string, ttl time.Duration) error {
	switch {
	case l.Owner == "" || l.Term == 0:
		return kit.Breach("got owner %q and term %d, want the current lease, which has both", l.Owner, l.Term)
	case l.Remaining < 0:
		return kit.Breach("got Remaining %v, want at least 0", l.Remaining)
	case l.Owner == owner && l.Remaining > ttl+tolerance:
		return kit.Breach("got Remaining %v, want at most the TTL, %v", l.Remaining, ttl)
	}
	return nil
}

func (r *fixture) resign(s store.Store, l store.Lease) {
	r.Helper()
	ctx, cancel := context.WithTimeout(r.Context(), kit.Patience)
	defer cancel()
	r.Must(s.Resign(ctx, l), "Resign of %q, term %d", l.Owner, l.Term)
}

func (r *fixture) versions(s store.Store) store.Versions {
	r.Helper()
	v, err := r.tryVersions(s)
	r.Must(err, "Versions")
	return v
}

func (r *fixture) tryVersions(s store.Store) (store.Versions, error) {
	ctx, cancel := context.WithTimeout(r.Context(), kit.Patience)
	defer cancel()
	return s.Versions(ctx)
}

// load calls Load and expects the requested shards.
func (r *fixture) load(s store.Store, shards ...int) map[int]store.Shard {
	r.Helper()
	loaded, err := r.tryLoad(s, shards...)
	r.Must(err, "Load(%v)", shards)
	return loaded
}

func (r *fixture) tryLoad(s store.Store, shards ...int) (map[int]store.Shard, error) {
	loaded, err := within(r, s.Load, shards)
	if err != nil {
		return nil, err
	}
	return byIndex(shards, loaded)
}

func (r *fixture) shard(s store.Store, i int) store.Shard {
	r.Helper()
	return r.load(s, i)[i]
}

func (r *fixture) tryApply(s store.Store, b store.Batch) (store.Version, error) {
	return within(r, s.Apply, b)
}

// write applies changes to the current version of a shard. It returns the new version.
func (r *fixture) write(s store.Store, shard int, changes ...store.Change) store.Version {
	r.Helper()
	v, err := r.tryApply(s, store.Batch{Shard: shard, Expect: r.shard(s, shard).Version, Changes: changes})
	r.Must(err, "Apply to shard %d", shard)
	return v
}

// probes calls Probe and expects a valid grant for each request.
func (r *fixture) probes(s store.Store, requests ...store.ProbeRequest) []store.ProbeGrant {
	r.Helper()
	grants, err := r.tryProbes(s, requests...)
	r.Must(err, "Probe of %d requests", len(requests))
	return grants
}

func (r *fixture) tryProbes(s store.Store, requests ...store.ProbeRequest) ([]store.ProbeGrant, error) {
	grants, err := within(r, s.Probe, requests)
	if err != nil {
		return nil, err
	}
	return grants, checkGrants(requests, grants)
}

// idIn returns the nth record ID of a shard.
func idIn(shard, n int) store.RecordID {
	var id store.RecordID
	binary.BigEndian.PutUint16(id[:], uint16(shard))
	binary.BigEndian.PutUint64(id[len(id)-8:], uint64(n))
	return id
}

// put is a change that writes the nth record of a shard.
func put(shard, n int, text string) store.Change {
	return store.Change{ID: idIn(shard, n), Data: []byte(text)}
}

// drop is a change that deletes the nth record of a shard.
func drop(shard, n int) store.Change {
	return store.Change{ID: idIn(shard, n)}
}

// contents returns the records of a shard by ID.
func contents(s store.Shard) map[store.RecordID][]byte {
	records := make(map[store.RecordID][]byte, len(s.Records))
	for _, r := range s.Records {
		records[r.ID] = r.Data
	}
	return records
}

// expectRecords expects a shard to hold exactly these records, each once.
func (r *fixture) expectRecords(s store.Shard, want map[store.RecordID][]byte) {
	r.Helper()
	got := contents(s)
	if len(got) != len(s.Records) {
		r.Errorf("shard %d: Load returned %d records with only %d different IDs, want each record once", s.Index, len(s.Records), len(got))
	}
	for id, data := range want {
		if stored, ok := got[id]; !ok {
			r.Errorf("shard %d, record %x: got no record, want %s", s.Index, id, excerpt(data))
		} else if !bytes.Equal(stored, data) {
			r.Errorf("shard %d, record %x: got %s, want the data that was written, %s", s.Index, id, excerpt(stored), excerpt(data))
		}
	}
	for id, data := range got {
		if _, ok := want[id]; !ok {
			r.Errorf("shard %d, record %x: got %s, want no such record", s.Index, id, excerpt(data))
		}
	}
}

func excerpt(data []byte) string {
	const most = 40
	if len(data) <= most {
		return fmt.Sprintf("%q", data)
	}
	return fmt.Sprintf("%q... (%d bytes)", data[:most], len(data))
}

// byIndex returns shards by index. Each requested shard must be there, at most once per request,
// and no other.
func byIndex(asked []int, loaded []store.Shard) (map[int]store.Shard, error) {
	left := map[int]int{}
	for _, i := range asked {
		left[i]++
	}
	shards := map[int]store.Shard{}
	for _, s := range loaded {
		if left[s.Index]--; left[s.Index] < 0 {
			return nil, kit.Breach("got shard %d more often than requested, want shards %v", s.Index, asked)
		}
		shards[s.Index] = s
	}
	for i := range left {
		if _, ok := shards[i]; !ok {
			return nil, kit.Breach("got no shard %d, want shards %v: an empty shard is returned too", i, asked)
		}
	}
	return shards, nil
}

// number parses the number in a record. It returns 0 if there is no record.
func number(s store.Shard, n int) (int, error) {
	data, ok := contents(s)[idIn(s.Index, n)]
	if !ok {
		return 0, nil
	}
	return strconv.Atoi(string(data))
}
