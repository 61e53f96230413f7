package limits

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

	"github.com/spillway-go/spillway/internal/integration/program"
	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/bucket"
)

// crowd is the callers of one process, who take one token at a time.
type crowd struct {
	Engine        engine
	Keys, Callers int
}

// crowdTime is how long callers take tokens.
const crowdTime = 3 * time.Second

type crowdResult struct {
	Took     []time.Duration // of each Take
	ByPolicy int
}

// BenchmarkCallers measures the takes of several processes, with the default settings. Choose a case by its
// name, such as -bench 'Callers/postgres/3_processes/500_callers/10000_keys'.
func BenchmarkCallers(b *testing.B) {
	for name, start := range map[string]func(b *testing.B) (address string){
		"redis":    func(b *testing.B) string { return program.Redis(b).Address },
		"postgres": func(b *testing.B) string { return program.Postgres(b).DSN("") },
		"mariadb":  func(b *testing.B) string { return program.MariaDB(b, "").DSN("interpolateParams=true") },
		"sqlite":   func(b *testing.B) string { return filepath.Join(b.TempDir(), "store.db") },
	} {
		b.Run(name, func(b *testing.B) {
			c := crowd{Engine: engine{Name: name, Address: start(b)}}
			if err := c.Engine.prepare(b.Context()); err != nil {
				b.Fatal(err)
			}
			for _, processes := range []int{1, 3} {
				for _, callers := range []int{40, 100, 200, 500, 2000} {
					for _, c.Keys = range []int{1, 100, 10_000, 1_000_000} {
						b.Run(fmt.Sprintf("%d processes/%d callers/%d keys", processes, callers, c.Keys), func(b *testing.B) {
							c.Callers = callers / processes
							r := c.run(b, processes)
							slices.Sort(r.Took)
							b.ReportMetric(float64(len(r.Took))/crowdTime.Seconds(), "takes/s")
							b.ReportMetric(r.Took[len(r.Took)*99/100].Seconds()*1e3, "p99-ms")
							b.ReportMetric(100*float64(r.ByPolicy)/float64(len(r.Took)), "by-policy-%")
						})
					}
				}
			}
		})
	}
}

// run runs crowds in processes of their own, and returns the sum of their results.
func (c crowd) run(b *testing.B, processes int) (sum crowdResult) {
	order := throttle.Must(json.Marshal(c))
	var mu sync.Mutex
	var all sync.WaitGroup
	for range processes {
		all.Go(func() {
			text, err := exec.CommandContext(b.Context(), os.Args[0], asCrowd, string(order)).Output()
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

// runCrowd is a process of a benchmark. It prints its result.
func runCrowd(args []string) error {
	var c crowd
	if err := json.Unmarshal([]byte(args[0]), &c); err != nil {
		return err
	}
	store, end, err := c.Engine.open("crowd", 0)
	if err != nil {
		return err
	}
	defer end()
	l := bucket.Must(bucket.New(bucket.Config{Name: "crowd", Store: store, Limit: bucket.PerSecond(1e6)}))
	defer l.Close()
	if err := l.Warm(context.Background()); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), crowdTime)
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
