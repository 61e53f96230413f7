package stores_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/spillway-go/spillway/internal/integration/program"
	"github.com/spillway-go/spillway/throttle/bucket"
	"github.com/spillway-go/spillway/throttle/bucket/store"
	"github.com/spillway-go/spillway/throttle/redisstore"
	"github.com/spillway-go/spillway/throttle/sqlstore"
)

// crowdVariable has the crowd of TestCrowdOfProcess.
const crowdVariable = "SPILLWAY_TEST_CROWD"

// crowd is the callers of one process, who take one token at a time.
type crowd struct {
	Engine, DSN string
	Pool, Keys  int
	Callers     int
	Limit       bucket.Limit
	Length      time.Duration
}

// crowdResult is what a crowd got.
type crowdResult struct {
	Took     []time.Duration // of each Take
	ByPolicy int
}

// BenchmarkCallers measures the takes of several processes, with the default settings. Choose a case by its
// name, such as -bench 'Callers/postgres/3_processes/500_callers/10000_keys'.
func BenchmarkCallers(b *testing.B) {
	eachStore(b, func(b *testing.B, c crowd) {
		c.Limit, c.Pool, c.Length = bucket.PerSecond(1e6), 8, 3*time.Second
		for _, processes := range []int{1, 3} {
			for _, callers := range []int{40, 100, 200, 500, 2000} {
				for _, c.Keys = range []int{1, 100, 10_000, 1_000_000} {
					b.Run(fmt.Sprintf("%d processes/%d callers/%d keys", processes, callers, c.Keys), func(b *testing.B) {
						c.Callers = callers / processes
						r := c.run(b, slices.Repeat([]crowd{c}, processes))
						slices.Sort(r.Took)
						b.ReportMetric(float64(len(r.Took))/c.Length.Seconds(), "takes/s")
						b.ReportMetric(r.Took[len(r.Took)*99/100].Seconds()*1e3, "p99-ms")
						b.ReportMetric(100*float64(r.ByPolicy)/float64(len(r.Took)), "by-policy-%")
					})
				}
			}
		}
	})
}

// eachStore runs a benchmark with each store.
func eachStore(b *testing.B, f func(*testing.B, crowd)) {
	for name, start := range map[string]func(b *testing.B) string{
		"redis":    func(b *testing.B) string { return program.Redis(b).Address },
		"postgres": func(b *testing.B) string { return program.Postgres(b).DSN("") },
		"mariadb":  func(b *testing.B) string { return program.MariaDB(b, "").DSN("interpolateParams=true") },
		"sqlite": func(b *testing.B) string {
			return "file:" + filepath.Join(b.TempDir(), "store.db") + "?_pragma=busy_timeout(40)&_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)"
		},
	} {
		b.Run(name, func(b *testing.B) { f(b, crowd{Engine: name, DSN: start(b)}) })
	}
}

// run runs crowds in processes of their own, and returns the sum of their results.
func (c crowd) run(b *testing.B, crowds []crowd) (sum crowdResult) {
	if sqlBucket, ok := c.store(b).(*sqlstore.Bucket); ok {
		if err := sqlBucket.CreateSchema(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	var mu sync.Mutex
	var all sync.WaitGroup
	for i, one := range crowds {
		all.Go(func() {
			order, err := json.Marshal(one)
			if err != nil {
				b.Error(err)
			}
			file := filepath.Join(b.TempDir(), strconv.Itoa(i))
			child := exec.CommandContext(b.Context(), os.Args[0], "-test.run=^TestCrowdOfProcess$")
			child.Env = append(os.Environ(), crowdVariable+"="+string(order), crowdVariable+"_RESULT="+file)
			if out, err := child.CombinedOutput(); err != nil {
				b.Errorf("%v: %s", err, out)
			}
			var r crowdResult
			if text, err := os.ReadFile(file); err != nil || json.Unmarshal(text, &r) != nil {
				b.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			sum.Took = append(sum.Took, r.Took...)
			sum.ByPolicy += r.ByPolicy
		})
	}
	all.Wait()
	return sum
}

func (c crowd) store(t testing.TB) store.Store {
	if c.Engine == "redis" {
		client := redis.NewUniversalClient(redisstore.Options(c.DSN))
		t.Cleanup(func() { client.Close() })
		return redisBucket(t, client, "crowd")
	}
	e := map[string]*engine{
		"postgres": newEngine(sqlstore.PostgreSQL, "pgx", nil),
		"mariadb":  newEngine(sqlstore.MySQL, "mysql", nil),
		"sqlite":   newEngine(sqlstore.SQLite, "sqlite", nil),
	}[c.Engine]
	db := e.open(t, c.DSN)
	if c.Engine != "sqlite" {
		db.SetMaxOpenConns(c.Pool)
		db.SetMaxIdleConns(c.Pool)
	}
	b, err := sqlstore.NewBucket(db, e.dialect, sqlstore.BucketConfig{Name: "crowd"})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestCrowdOfProcess is a process of a benchmark.
func TestCrowdOfProcess(t *testing.T) {
	order := os.Getenv(crowdVariable)
	if order == "" {
		return // it is a process of a benchmark
	}
	var c crowd
	if err := json.Unmarshal([]byte(order), &c); err != nil {
		t.Fatal(err)
	}
	l := bucket.Must(bucket.New(bucket.Config{Name: "crowd", Store: c.store(t), Limit: c.Limit}))
	defer l.Close()
	if err := l.Warm(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), c.Length)
	defer cancel()
	var r crowdResult
	var mu sync.Mutex
	var all sync.WaitGroup
	for i := range c.Callers {
		all.Go(func() {
			took, byPolicy := c.takes(ctx, l, int64(i))
			mu.Lock()
			defer mu.Unlock()
			r.Took, r.ByPolicy = append(r.Took, took...), r.ByPolicy+byPolicy
		})
	}
	all.Wait()
	text, err := json.Marshal(r)
	if err == nil {
		err = os.WriteFile(os.Getenv(crowdVariable+"_RESULT"), text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// takes takes tokens until ctx ends. Some keys are asked for more often than others, by Zipf's law.
func (c crowd) takes(ctx context.Context, l *bucket.Limiter, seed int64) (took []time.Duration, byPolicy int) {
	keys := rand.NewZipf(rand.New(rand.NewSource(seed)), 1.1, 1, uint64(max(1, c.Keys-1)))
	for ctx.Err() == nil {
		key := "only"
		if c.Keys > 1 {
			key = strconv.FormatUint(keys.Uint64(), 10)
		}
		asked := time.Now()
		d, err := l.Decide(context.WithoutCancel(ctx), key)
		took = append(took, time.Since(asked))
		if err != nil || d.Source == bucket.SourcePolicy {
			byPolicy++
		}
	}
	return took, byPolicy
}
