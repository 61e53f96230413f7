package stores_test

import (
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/bucket"
	"github.com/spillway-go/spillway/throttle/bucket/store"
	"github.com/spillway-go/spillway/throttle/bucket/storetest"
	"github.com/spillway-go/spillway/throttle/sqlstore"
)

func (e *engine) bucketCases(t *testing.T) {
	t.Run("conformance", e.bucketConformance)
	t.Run("takes as store.Level does", e.matchesLevel)
	t.Run("full rows are swept", e.sweepsBuckets)
	t.Run("rows are deleted meanwhile", e.losesBuckets)
	t.Run("a long wait for a row adds no tokens", e.waitsForRows)
	t.Run("a sweep deletes no used bucket", e.sweepsWhileUsed)
}

// buckets is a bucket store with its table, and a look into it.
type buckets struct {
	*sqlstore.Bucket

	e     *engine
	db    *sql.DB
	table string
	name  string
}

// buckets returns a handle on a store that does not sweep by itself.
func (e *engine) buckets(t testing.TB, dsn, name, prefix string) buckets {
	t.Helper()
	return e.bucketsWith(t, dsn, sqlstore.BucketConfig{Name: name, Prefix: prefix, SweepEvery: -1})
}

func (e *engine) bucketsWith(t testing.TB, dsn string, c sqlstore.BucketConfig) buckets {
	t.Helper()
	db := e.open(t, dsn)
	b := throttle.Must(sqlstore.NewBucket(db, e.dialect, c))
	t.Cleanup(func() { _ = b.Close() }) // before its database
	must(t, b.CreateSchema(t.Context()))
	return buckets{b, e, db, c.Prefix + "bucket", c.Name}
}

// step returns the resolution of the database's clock.
func (b buckets) step() time.Duration {
	if b.e.dialect == sqlstore.SQLite {
		return time.Millisecond
	}
	return time.Microsecond
}

func (b buckets) forgets() bool { return false }

func (b buckets) query(q string) string { return b.e.query(strings.ReplaceAll(q, "{bucket}", b.table)) }

// now is the database's time. That of PostgreSQL and MariaDB is asked for in another way than the store does.
func (b buckets) now(t testing.TB) int64 {
	t.Helper()
	q := map[sqlstore.Dialect]string{
		sqlstore.PostgreSQL: "SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS bigint) * 1000",
		sqlstore.MySQL:      "SELECT CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS SIGNED) * 1000",
		sqlstore.SQLite:     "SELECT CAST(ROUND((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000000",
	}[b.e.dialect]
	var ns int64
	must(t, b.db.QueryRow(q).Scan(&ns))
	return ns
}

const levelColumns = "at_ns, used, interval_ns, period_ns, capacity, until_ns, other"

func (b buckets) level(t testing.TB, key string) (v store.Level) {
	t.Helper()
	var until int64
	var other string
	err := b.db.QueryRow(b.query("SELECT "+levelColumns+" FROM {bucket} WHERE name = ? AND id = ?"), []byte(b.name), []byte(key)).
		Scan(&v.At, &v.Used, &v.Interval, &v.Period, &v.Capacity, &until, &other)
	if o := &v.Other; other != "" {
		if _, err := fmt.Sscan(other, &o.At, &o.Used, &o.Interval, &o.Period, &o.Capacity); err != nil {
			t.Fatal(err)
		}
	}
	if want := (store.Level{Other: v.Other}).FullAt(); until != want {
		t.Errorf("%+v: got until_ns %d want %d", v, until, want)
	}
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		t.Fatal(err)
	}
	return v
}

// put gives a bucket a level that it cannot have got by itself, as after a step of the clock.
func (b buckets) put(t testing.TB, key string, v store.Level) {
	t.Helper()
	must(t, b.Reset(t.Context(), key))
	columns, values := "name, id, "+levelColumns, "?, ?, ?, ?, ?, ?, ?, ?, ?"
	if b.e.dialect != sqlstore.MySQL {
		columns, values = columns+", taken_ns, granted", values+", 0, 0"
	}
	q := b.query("INSERT INTO {bucket} (" + columns + ") VALUES (" + values + ")")
	other := ""
	if o := v.Other; o != (store.Other{}) {
		other = fmt.Sprint(o.At, o.Used, o.Interval, o.Period, o.Capacity)
	}
	until := store.Level{Other: v.Other}.FullAt()
	if _, err := b.db.Exec(q, []byte(b.name), []byte(key), v.At, v.Used, v.Interval, v.Period, v.Capacity, until, other); err != nil {
		t.Fatal(err)
	}
}

func (b buckets) rows(t testing.TB) (n int) {
	t.Helper()
	must(t, b.db.QueryRow(b.query("SELECT COUNT(*) FROM {bucket} WHERE name = ?"), []byte(b.name)).Scan(&n))
	return n
}

// bucketsConform runs the suite of all stores. Each handle has connections of its own, and sweeps all the time.
func (e *engine) bucketConformance(t *testing.T) {
	dsn, name := e.dsn(t), fmt.Sprintf("conforms %d \x00\xff'\"`%%?$1", e.last.Add(1))
	storetest.Run(t, func(t *testing.T) func() store.Store {
		return func() store.Store {
			b := e.bucketsWith(t, dsn, sqlstore.BucketConfig{Name: name, Prefix: "conforms_", SweepEvery: time.Millisecond})
			if e.dialect != sqlstore.SQLite {
				b.db.SetMaxOpenConns(8) // servers of tests allow a hundred
			}
			return b.Bucket
		}
	}, storetest.ClockResolution(buckets{e: e}.step()))
}

// losesBuckets deletes rows while 3 handles x 64 goroutines take from them. No call fails: if two statements deadlock, the database rolls
// one back, and the store retries it.
func (e *engine) losesBuckets(t *testing.T) {
	var asked atomic.Int64
	dsn, name := e.dsn(t), fmt.Sprint("loss ", e.last.Add(1))
	limits := []bucket.Limit{bucket.PerSecond(5), {Capacity: 5, Refill: 5, Period: time.Millisecond, Algorithm: bucket.Fixed}}
	step := func(b buckets, draw *rand.Rand) bool {
		l, key := limits[draw.IntN(2)], fmt.Sprint(draw.IntN(3))
		var err error
		switch draw.IntN(16) {
		case 0:
			err = b.Reset(t.Context(), key)
		case 1:
			_, err = b.db.Exec(b.query("UPDATE {bucket} SET at_ns = 1, period_ns = 0, used = 0, until_ns = 0, other = '' WHERE name = ? AND id = ?"), []byte(b.name), []byte(key))
			if err != nil && strings.Contains(err.Error(), "Error 1213") {
				err = nil // this statement is the victim, and the store does not retry it
			}
		case 2:
			_, err = b.Sweep(t.Context())
		case 3:
			err = b.Return(t.Context(), key, l, 1)
		case 4, 5, 6, 7:
			var all []store.Request
			for _, n := range draw.Perm(3) {
				all = append(all, store.Request{Key: fmt.Sprint(n), Limit: limits[draw.IntN(2)], Min: 1, Max: 1 + draw.Int64N(3)})
			}
			for _, a := range b.TakeMany(t.Context(), all) {
				err = errors.Join(err, a.Err)
			}
		default:
			_, err = b.Take(t.Context(), store.Request{Key: key, Limit: l, Min: 1, Max: 1 + draw.Int64N(3)})
		}
		if err != nil {
			t.Error(err)
		}
		return err == nil && asked.Add(1) < 1000
	}
	var all sync.WaitGroup
	defer all.Wait()
	for h := range 3 {
		b := e.buckets(t, dsn, name, "fleet_")
		if e.dialect != sqlstore.SQLite {
			b.db.SetMaxOpenConns(8)
			b.db.SetMaxIdleConns(8)
		}
		for g := range 64 {
			draw := rand.New(rand.NewPCG(uint64(h), uint64(g)))
			all.Go(func() {
				for step(b, draw) {
				}
			})
		}
	}
}

// waitsForRows makes a request wait for a row or the table for more than a second, while another process takes from the
// bucket. The level is then further ahead of the time at which the request began than the limit can have brought it, as
// after a step of the clock.
func (e *engine) waitsForRows(t *testing.T) {
	dsn, name := e.dsn(t), fmt.Sprint("waits ", e.last.Add(1))
	b, other := e.buckets(t, dsn, name, "waits_"), e.buckets(t, dsn, name, "waits_")
	conn, err := other.db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	exec := func(q string, args ...any) {
		if _, err := conn.ExecContext(t.Context(), other.query(q), args...); err != nil {
			t.Fatal(err)
		}
	}
	for _, l := range []bucket.Limit{bucket.PerSecond(10), {Capacity: 10, Period: 10 * time.Millisecond, Algorithm: bucket.Fixed}} {
		request := store.Request{Key: l.Algorithm.String(), Limit: l.WithDefaults(), Min: 10, Max: 10}
		id := []any{[]byte(name), []byte(request.Key)}
		holds := map[string][2]string{"row": {"BEGIN", "COMMIT"}}
		if e.dialect == sqlstore.MySQL {
			holds["table"] = [2]string{"LOCK TABLES {bucket} WRITE", "UNLOCK TABLES"}
		}
		for what, hold := range holds {
			if _, err := b.Take(t.Context(), request); err != nil {
				t.Fatal(err)
			}
			exec(hold[0])
			exec("UPDATE {bucket} SET used = used WHERE name = ? AND id = ?", id...)
			ended := make(chan error)
			go func() {
				if what == "table" {
					_, err := b.Take(t.Context(), request)
					ended <- err
					return
				}
				answers := b.TakeMany(t.Context(), []store.Request{request, {Key: "another", Limit: request.Limit, Max: 1}})
				ended <- errors.Join(answers[0].Err, answers[1].Err)
			}()
			time.Sleep(1500 * time.Millisecond)
			next, _ := store.Level{}.Take(request.Limit, time.Now().UnixNano(), 10, 10)
			exec("UPDATE {bucket} SET at_ns = ?, used = ? WHERE name = ? AND id = ?", append([]any{next.At, next.Used}, id...)...)
			exec(hold[1])
			if err := <-ended; err != nil {
				t.Errorf("%v, %s: got error %v want none", l, what, err)
			}
			if got := b.level(t, request.Key); got.At < next.At {
				t.Errorf("%v, %s: got %+v want it at %d or later", l, what, got, next.At)
			}
		}
	}
}
