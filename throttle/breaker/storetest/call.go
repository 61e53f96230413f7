package storetest

import (
	"context"
	"errors"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker/store"
	kit "github.com/spillway-go/spillway/throttle/internal/storetest"
)

// campaign lets the owner campaign, and wants an answer.
func (r *rig) campaign(s store.Store, owner string, ttl time.Duration) store.Lease {
	r.Helper()
	l, err := r.tryCampaign(s, owner, ttl)
	r.Must(err, "Campaign of %q for %v", owner, ttl)
	return l
}

func (r *rig) tryCampaign(s store.Store, owner string, ttl time.Duration) (l store.Lease, err error) {
	err = r.Within(func(ctx context.Context) (err error) {
		l, err = s.Campaign(ctx, store.Candidate{Owner: owner, TTL: ttl})
		return err
	})
	if err != nil {
		return l, err
	}
	return l, checkLease(l, owner, ttl)
}

// checkLease wants a lease that somebody holds, and that is no longer than the one who was given it asked for.
func checkLease(l store.Lease, owner string, ttl time.Duration) error {
	switch {
	case l.Owner == "" || l.Term == 0:
		return kit.Breach("got owner %q, term %d, want the lease that holds now, which has both", l.Owner, l.Term)
	case l.Remaining < 0:
		return kit.Breach("got Remaining %v of the lease that holds now, want no negative time", l.Remaining)
	case l.Owner == owner && l.Remaining > ttl+grain:
		return kit.Breach("got Remaining %v, want at most the TTL", l.Remaining)
	}
	return nil
}

// resign ends a lease, and wants no error.
func (r *rig) resign(s store.Store, l store.Lease) {
	r.Helper()
	err := r.Within(func(ctx context.Context) error { return s.Resign(ctx, l) })
	r.Must(err, "Resign of %q, term %d", l.Owner, l.Term)
}

// versions reads the versions of all shards, and wants no error.
func (r *rig) versions(s store.Store) store.Versions {
	r.Helper()
	v, err := r.tryVersions(s)
	r.Must(err, "Versions")
	return v
}

func (r *rig) tryVersions(s store.Store) (v store.Versions, err error) {
	err = r.Within(func(ctx context.Context) (err error) {
		v, err = s.Versions(ctx)
		return err
	})
	return v, err
}

// load reads shards, and wants those that it asked for.
func (r *rig) load(s store.Store, shards ...int) map[int]store.Shard {
	r.Helper()
	loaded, err := r.tryLoad(s, shards...)
	r.Must(err, "Load(%v)", shards)
	return loaded
}

func (r *rig) tryLoad(s store.Store, shards ...int) (map[int]store.Shard, error) {
	var loaded []store.Shard
	err := r.Within(func(ctx context.Context) (err error) {
		loaded, err = s.Load(ctx, shards)
		return err
	})
	if err != nil {
		return nil, err
	}
	return byIndex(shards, loaded)
}

// shard reads one shard.
func (r *rig) shard(s store.Store, i int) store.Shard {
	r.Helper()
	return r.load(s, i)[i]
}

// apply writes a batch, and wants it written.
func (r *rig) apply(s store.Store, b store.Batch) store.Version {
	r.Helper()
	v, err := r.tryApply(s, b)
	r.Must(err, "Apply to shard %d, term %d, expecting %+v, %d changes", b.Shard, b.Term, b.Expect, len(b.Changes))
	return v
}

func (r *rig) tryApply(s store.Store, b store.Batch) (v store.Version, err error) {
	err = r.Within(func(ctx context.Context) (err error) {
		v, err = s.Apply(ctx, b)
		return err
	})
	return v, err
}

// write makes changes to a shard as it is now, and returns its new version.
func (r *rig) write(s store.Store, shard int, changes ...store.Change) store.Version {
	r.Helper()
	return r.apply(s, store.Batch{Shard: shard, Expect: r.shard(s, shard).Version, Changes: changes})
}

// refuse wants a batch to be refused with that error, and the shard to stay as it is.
func (r *rig) refuse(s store.Store, b store.Batch, want error, why string) {
	r.Helper()
	before := r.shard(s, b.Shard)
	if _, err := r.tryApply(s, b); !errors.Is(err, want) {
		r.Errorf("Apply of a batch with term %d, expecting %+v, to shard %d at %+v: got error %v, want %q by errors.Is: %s",
			b.Term, b.Expect, b.Shard, before.Version, err, want, why)
	}
	after := r.shard(s, b.Shard)
	if after.Version != before.Version {
		r.Errorf("version of a shard whose batch was refused: got %+v, want %+v as before", after.Version, before.Version)
	}
	r.expectRecords(after, contents(before))
}

// probes asks for several grants, and wants as many answers.
func (r *rig) probes(s store.Store, requests ...store.ProbeRequest) []store.ProbeGrant {
	r.Helper()
	grants, err := r.tryProbes(s, requests...)
	r.Must(err, "Probe of %d requests", len(requests))
	return grants
}

func (r *rig) tryProbes(s store.Store, requests ...store.ProbeRequest) (grants []store.ProbeGrant, err error) {
	err = r.Within(func(ctx context.Context) (err error) {
		grants, err = s.Probe(ctx, requests)
		return err
	})
	if err != nil {
		return nil, err
	}
	return grants, checkGrants(requests, grants)
}

// probe asks for one grant.
func (r *rig) probe(s store.Store, request store.ProbeRequest) store.ProbeGrant {
	r.Helper()
	return r.probes(s, request)[0]
}
