package stores_test

import (
	"context"
	"database/sql"
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

// TestMain runs the tests, or a process of a benchmark.
func TestMain(m *testing.M) {
	program.Main(m, 4, map[string]func([]string) error{"crowd": runCrowd})
}

// crowd is the callers of one process, who take one token at a time.
type crowd struct {
	Engine, DSN string
	Pool, Keys  int
	Callers     int
	Limit       bucket.Limit
	Length      time.Duration
}

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
						r := c.run(b, processes)
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
func (c crowd) run(b *testing.B, processes int) (sum crowdResult) {
	store, err := c.store()
	if sqlBucket, ok := store.(*sqlstore.Bucket); ok {
		err = sqlBucket.CreateSchema(b.Context())
	}
	order, failed := json.Marshal(c)
	if err != nil || failed != nil {
		b.Fatal(err, failed)
	}
	var mu sync.Mutex
	var all sync.WaitGroup
	for range processes {
		all.Go(func() {
			text, err := exec.CommandContext(b.Context(), os.Args[0], "crowd", string(order)).Output()
			var r crowdResult
			if err != nil || json.Unmarshal(text, &r) != nil {
				b.Errorf("%v: %s", err, text)
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

// store opens the store, until the process ends.
func (c crowd) store() (store.Store, error) {
	driver, dialect, pool := "pgx", sqlstore.PostgreSQL, c.Pool
	switch c.Engine {
	case "redis":
		return redisstore.NewBucket(redis.NewUniversalClient(redisstore.Options(c.DSN)), redisstore.BucketConfig{Name: "crowd"})
	case "mariadb":
		driver, dialect = "mysql", sqlstore.MySQL
	case "sqlite":
		driver, dialect, pool = "sqlite", sqlstore.SQLite, 1
	}
	db, err := sql.Open(driver, c.DSN)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(pool)
	db.SetMaxIdleConns(pool)
	return sqlstore.NewBucket(db, dialect, sqlstore.BucketConfig{Name: "crowd"})
}

// runCrowd is a process of a benchmark. It prints its result.
func runCrowd(args []string) error {
	var c crowd
	if err := json.Unmarshal([]byte(args[0]), &c); err != nil {
		return err
	}
	backing, err := c.store()
	if err != nil {
		return err
	}
	l := bucket.Must(bucket.New(bucket.Config{Name: "crowd", Store: backing, Limit: c.Limit}))
	defer l.Close()
	if err := l.Warm(context.Background()); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), c.Length)
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
	return json.NewEncoder(os.Stdout).Encode(r)
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
