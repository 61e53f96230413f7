package storetest

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/spillway-go/spillway/throttle/breaker/store"
)

func loadCases() []testCase {
	return []testCase{
		{"any shards in any order", anyShards},
		{"none", noShards},
		{"the same shard twice", sameShardTwice},
		{"shards that hold nothing", emptyShards},
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

// fill writes two records into every shard.
func (r *rig) fill() [store.NumShards]store.Version {
	r.Helper()
	var versions [store.NumShards]store.Version
	for i := range versions {
		versions[i] = r.write(r.Store, i, put(i, 1, fmt.Sprintf("one of %d", i)), put(i, 2, fmt.Sprintf("two of %d", i)))
	}
	return versions
}

func anyShards(r *rig) {
	versions := r.fill()
	random := rand.New(rand.NewPCG(8, 1))
	all := allShards()
	other := r.Handle()
	for _, n := range []int{1, 2, 3, 17, 40, store.NumShards - 1, store.NumShards} {
		random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		for i, s := range r.load(other, all[:n]...) {
			if s.Version != versions[i] {
				r.Errorf("Load(%v): shard %d has version %+v, want %+v", all[:n], i, s.Version, versions[i])
			}
			r.expectRecords(s, texts(i, map[int]string{1: fmt.Sprintf("one of %d", i), 2: fmt.Sprintf("two of %d", i)}))
		}
	}
}

func noShards(r *rig) {
	r.fill()
	for _, none := range [][]int{nil, {}} {
		err := r.Within(func(ctx context.Context) error {
			shards, err := r.Store.Load(ctx, none)
			if len(shards) != 0 {
				r.Errorf("Load(%#v): got %d shards, want none", none, len(shards))
			}
			return err
		})
		r.Must(err, "Load(%#v)", none)
	}
}

func sameShardTwice(r *rig) {
	v := r.write(r.Store, 6, put(6, 1, "x"))
	for _, s := range r.load(r.Store, 6, 8, 6, 6) {
		if s.Index == 6 {
			r.expectRecords(s, texts(6, map[int]string{1: "x"}))
		}
		if s.Index == 6 && s.Version != v {
			r.Errorf("Load([6 8 6 6]): shard 6 has version %+v, want %+v", s.Version, v)
		}
	}
}

func emptyShards(r *rig) {
	r.write(r.Store, 1, put(1, 1, "x"))
	r.write(r.Store, 1, drop(1, 1))
	v := r.write(r.Store, 2, put(2, 1, "y"))
	loaded := r.load(r.Handle(), 0, 1, 2, 3)
	for i, want := range []store.Version{0: {}, 1: {Epoch: loaded[1].Version.Epoch, Number: 2}, 2: v, 3: {}} {
		if loaded[i].Version != want {
			r.Errorf("Load([0 1 2 3]): shard %d has version %+v, want %+v", i, loaded[i].Version, want)
		}
		if i != 2 {
			r.expectRecords(loaded[i], nil)
		}
	}
}

func deletedAreGone(r *rig) {
	const shard = 13
	other := r.Handle()
	r.write(r.Store, shard, put(shard, 1, "a"), put(shard, 2, "b"), put(shard, 3, "c"))
	r.write(other, shard, drop(shard, 2))
	r.expectRecords(r.shard(r.Store, shard), texts(shard, map[int]string{1: "a", 3: "c"}))
	r.write(r.Store, shard, put(shard, 2, "again"), drop(shard, 1))
	r.expectRecords(r.shard(other, shard), texts(shard, map[int]string{2: "again", 3: "c"}))
}
