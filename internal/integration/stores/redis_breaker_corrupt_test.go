package stores_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	breakerstore "github.com/spillway-go/spillway/throttle/breaker/store"
)

// TestRedisVersion_Corrupt checks that a shard with an invalid version counts as lost and starts again,
// instead of blocking.
func TestRedisVersion_Corrupt(t *testing.T) {
	server, _, store := newRedis(t)
	for _, version := range []string{
		"", " ", "x", "1", "1 2", "1 2 x", "-1 2 3", "1  2 3", "1 2 3 4", " 1 2 3", "1 2 3 ", "01 2 3", "1 02 3", "1 2 03", "1e3 2 3", "1.5 2 3", "0x1 2 3",
		"9007199254740992 1 1", "1 1000000000000000 1", "1 1 18446744073709551616", "1 1 99999999999999999999", "1 1 100000000000000000000",
		strings.Repeat("9", 400) + " 1 1", "nan nan nan", "\x00 1 1", "1 1 1\n", "\xff",
	} {
		server.Do(t, "DEL", redisKey(2))
		server.Do(t, "HSET", redisKey(2), "version", version, strings.Repeat("r", 32), "ghost")
		wantRedisShardLost(t, store, version)
	}
	server.Do(t, "HDEL", redisKey(2), "version")
	wantRedisShardLost(t, store, "none")
}

func wantRedisShardLost(t *testing.T, store breakerstore.Store, version string) {
	t.Helper()
	if got := readRedis(t, store, 2); got.Version != (breakerstore.Version{}) || len(got.Records) != 0 {
		t.Errorf("%.40q: Load: got %v want nothing", version, got)
	}
	v, err := store.Versions(t.Context())
	if err != nil || v.Shards[2] != (breakerstore.Version{}) {
		t.Errorf("%.40q: Versions: got %v, error %v want zero", version, v.Shards[2], err)
	}
	if _, err := store.Apply(t.Context(), breakerstore.Batch{Shard: 2, Term: 5}); err != nil {
		t.Errorf("%.40q: Apply of a term: got error %v want none", version, err)
	}
	after, err := store.Apply(t.Context(), breakerstore.Batch{Shard: 2, Term: 5, Changes: []breakerstore.Change{{ID: redisRecord(2), Data: []byte("new")}}})
	if err != nil || after.Epoch == 0 || after.Number != 1 {
		t.Errorf("%.40q: Apply: got %v, error %v want number 1", version, after, err)
	}
	wantRedisRecord(t, store, 2, "new")
}

// TestRedisVersion_Large writes after the largest version numbers that are accepted.
func TestRedisVersion_Large(t *testing.T) {
	server, _, store := newRedis(t)
	server.Do(t, "HSET", redisKey(2), "version", "9007199254740991 999999999999998 18446744073709551614")
	want := breakerstore.Version{Epoch: 9007199254740991, Number: 999999999999999}
	got, err := store.Apply(t.Context(), breakerstore.Batch{
		Shard: 2, Term: 18446744073709551615, Expect: readRedis(t, store, 2).Version, Changes: []breakerstore.Change{{ID: redisRecord(2), Data: []byte{}}},
	})
	if err != nil || got != want || readRedis(t, store, 2).Version != want {
		t.Errorf("got %v, error %v want %v", got, err, want)
	}
	if _, err := store.Apply(t.Context(), breakerstore.Batch{Shard: 2, Term: 18446744073709551614, Expect: want}); !errors.Is(err, breakerstore.ErrFenced) && err == nil {
		t.Errorf("got no error want %v", breakerstore.ErrFenced)
	}
}

// TestRedisLease_Corrupt checks that an invalid lease does not prevent a manager from leading.
func TestRedisLease_Corrupt(t *testing.T) {
	const key = "spillway:breaker:{b/lead}:lease"
	server, _, store := newRedis(t)
	for name, lease := range map[string][]any{
		"no fields":       {"x", "y"},
		"no owner":        {"term", "1", "until", "4000000000000000", "ttl", "60000000"},
		"no term":         {"owner", "ghost", "until", "4000000000000000", "ttl", "60000000"},
		"term is a word":  {"owner", "ghost", "term", "x", "until", "4000000000000000", "ttl", "60000000"},
		"term is huge":    {"owner", "ghost", "term", "9007199254740992", "until", "4000000000000000", "ttl", "60000000"},
		"until is a word": {"owner", "ghost", "term", "1", "until", "x", "ttl", "60000000"},
		"until is minus":  {"owner", "ghost", "term", "1", "until", "-5", "ttl", "60000000"},
		"no ttl":          {"owner", "ghost", "term", "1", "until", "4000000000000000"},
		"ttl is nan":      {"owner", "ghost", "term", "1", "until", "4000000000000000", "ttl", "nan"},
	} {
		server.Do(t, "DEL", key)
		server.Do(t, append([]any{"HSET", key}, lease...)...)
		got, err := store.Campaign(t.Context(), breakerstore.Candidate{Owner: "me", TTL: time.Hour})
		if err != nil || got.Owner != "me" || got.Term < 1e15 || got.Remaining != time.Hour {
			t.Errorf("%s: Campaign: got %v, error %v want me, for an hour", name, got, err)
		}
	}
}

// TestRedis_ClockSetBack reads data from when the clock was far ahead. No lease lasts longer than its
// TTL, and no term falls.
func TestRedis_ClockSetBack(t *testing.T) {
	server, _, store := newRedis(t)
	const ahead = 4000000000000000 // microseconds: in the year 2096
	server.Do(t, "HSET", "spillway:breaker:{b/lead}:lease", "owner", "ghost", "term", ahead, "until", ahead, "ttl", 60000000)
	lease, err := store.Campaign(t.Context(), breakerstore.Candidate{Owner: "me", TTL: time.Hour})
	if err != nil || lease.Owner != "ghost" || lease.Remaining != time.Minute {
		t.Errorf("Campaign: got %v, error %v want ghost for a minute", lease, err)
	}
	again, err := store.Campaign(t.Context(), breakerstore.Candidate{Owner: "me", TTL: time.Hour})
	if err != nil || again.Owner != "ghost" || again.Remaining >= time.Minute {
		t.Errorf("Campaign: got %v, error %v want ghost for less than a minute: it must come to an end", again, err)
	}
	must(t, store.Resign(t.Context(), again))
	lease, err = store.Campaign(t.Context(), breakerstore.Candidate{Owner: "me", TTL: time.Hour})
	if err != nil || lease.Owner != "me" || lease.Term != ahead+1 {
		t.Errorf("Campaign: got %v, error %v want me, with term %d", lease, err, ahead+1)
	}
}

// TestRedisProbes_Corrupt checks that counters that are invalid, or from when the clock was far ahead,
// start again.
func TestRedisProbes_Corrupt(t *testing.T) {
	server, client, store := newRedis(t)
	ask := breakerstore.ProbeRequest{Since: time.Unix(1, 0), Every: 1000 * time.Hour, Budget: 5, Want: 3}
	for _, counter := range []string{"", "x", "1", "1 1", "-1 0", "4000000000000000 5", strings.Repeat("9", 400) + " 5", "nan nan", "\xff"} {
		grants, err := store.Probe(t.Context(), []breakerstore.ProbeRequest{ask})
		if err != nil || len(client.Keys(t.Context(), "*:probes:*").Val()) != 1 {
			t.Fatalf("got %v, error %v", grants, err)
		}
		server.Do(t, "SET", client.Keys(t.Context(), "*:probes:*").Val()[0], counter)
		grants, err = store.Probe(t.Context(), []breakerstore.ProbeRequest{ask, ask})
		if err != nil || grants[0].Granted != 3 || grants[1].Granted != 2 {
			t.Errorf("%.40q: got %v, error %v want 3 and 2", counter, grants, err)
		}
	}
}
