package grpcthrottle_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/grpcthrottle"
	"github.com/spillway-go/spillway/throttle/throttletest"
)

const (
	// backendMark makes the process of the test binary a backend.
	backendMark = "SPILLWAY_GRPC_BACKEND"
	// instantKey is the metadata by which callers tell the backend the time. Both processes live on the time of the callers,
	// which goes by calls and not by clocks, so that no machine is too slow for the test.
	instantKey = "test-instant"

	capacity = 100 // of the backend, in calls per second
	overload = 5   // times as many are made
)

// serveBackend serves a shop that has a capacity and knows no priorities, until its standard input ends.
func serveBackend() int {
	var instant atomic.Int64
	backend, err := throttletest.NewBackend(throttletest.BackendConfig{
		Capacity: capacity, Now: func() time.Time { return time.Unix(0, instant.Load()) },
	})
	if err != nil {
		return 1
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 1
	}
	server := grpc.NewServer(grpc.ChainUnaryInterceptor(
		func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, h grpc.UnaryHandler) (any, error) {
			now, _ := strconv.ParseInt(metadata.ValueFromIncomingContext(ctx, instantKey)[0], 10, 64)
			for last := instant.Load(); now > last && !instant.CompareAndSwap(last, now); last = instant.Load() {
			}
			resp, err := h(ctx, req)
			return resp, grpcthrottle.ToStatus(err) // all that it has of ours
		}))
	(&shop{buy: func(ctx context.Context, _ string) (string, error) { return "sold", backend.Call(ctx) }}).register(server)
	fmt.Println(listener.Addr())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		server.Stop()
	}()
	if err := server.Serve(listener); err != nil {
		return 1
	}
	return 0
}

// startBackend starts a backend in a process of its own, and returns its address.
func startBackend(t *testing.T) string {
	t.Helper()
	command := exec.Command(os.Args[0], "-test.run=^$")
	command.Env = append(os.Environ(), backendMark+"=1")
	command.Stderr = os.Stderr
	in, err := command.StdinPipe()
	must(t, err)
	out, err := command.StdoutPipe()
	must(t, err)
	must(t, command.Start())
	t.Cleanup(func() {
		_ = in.Close()
		if err := command.Wait(); err != nil {
			t.Errorf("backend: got %v want a clean end", err)
		}
	})
	address, err := bufio.NewReader(out).ReadString('\n')
	must(t, err)
	return strings.TrimSpace(address)
}

// crowd makes calls by a clock that goes one step with each call.
type crowd struct {
	steps   atomic.Int64
	mu      sync.Mutex
	dice    *rand.Rand
	made    [throttle.StandardPriorities]int
	success [throttle.StandardPriorities]int
}

func (c *crowd) now() time.Time {
	return time.Unix(0, c.steps.Load()*int64(time.Second)/(capacity*overload))
}

// priority draws who calls: one in ten is High, four in ten are Low.
func (c *crowd) priority() throttle.Priority {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := throttle.Priority([]int{0, 1, 1, 2, 2, 2, 3, 3, 3, 3}[c.dice.IntN(10)])
	c.made[p]++
	return p
}

func (c *crowd) call(ctx context.Context, conn *grpc.ClientConn) {
	p := c.priority()
	c.steps.Add(1)
	ctx = metadata.AppendToOutgoingContext(throttle.WithPriority(ctx, p), instantKey, strconv.FormatInt(c.now().UnixNano(), 10))
	err := conn.Invoke(ctx, buy, wrapperspb.String("pear"), new(text))
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil {
		c.success[p]++
	}
}

// share returns which part of a priority's calls succeeded.
func (c *crowd) share(p throttle.Priority) float64 { return float64(c.success[p]) / float64(c.made[p]) }

// overloaded has four callers overload a backend of its own for so many seconds of their time.
func overloaded(t *testing.T, seconds int, options func(*crowd) []grpc.DialOption) *crowd {
	t.Helper()
	c := &crowd{dice: rand.New(rand.NewPCG(1, 2))}
	conn, err := grpc.NewClient(startBackend(t), append(options(c), grpc.WithTransportCredentials(insecure.NewCredentials()))...)
	must(t, err)
	defer conn.Close()
	var left atomic.Int64
	left.Store(int64(seconds * capacity * overload))
	var callers sync.WaitGroup
	for range 4 {
		callers.Go(func() {
			for left.Add(-1) >= 0 {
				c.call(t.Context(), conn)
			}
		})
	}
	callers.Wait()
	t.Logf("at %d times the capacity, success: high %.0f %%, important %.0f %%, medium %.0f %%, low %.0f %%", overload,
		100*c.share(throttle.High), 100*c.share(throttle.Important), 100*c.share(throttle.Medium), 100*c.share(throttle.Low))
	return c
}

// TestTwoProcesses overloads a backend in another process, which has a capacity and knows no priorities.
func TestTwoProcesses(t *testing.T) {
	without := overloaded(t, 20, func(*crowd) []grpc.DialOption { return nil })
	with := overloaded(t, 60, func(c *crowd) []grpc.DialOption {
		dice := rand.New(rand.NewPCG(3, 4))
		var mu sync.Mutex
		client := newClient(t, grpcthrottle.ClientConfig{Throttle: throttle.Config{
			Policy: throttle.Tiered, Now: c.now, Rand: func() float64 { mu.Lock(); defer mu.Unlock(); return dice.Float64() },
		}})
		return client.DialOptions()
	})
	if got := without.share(throttle.High); got > 0.3 {
		t.Errorf("High without a throttle: got %.2f want at most 0.3: there was no overload", got)
	}
	if got := with.share(throttle.High); got < 0.8 {
		t.Errorf("High with the throttle: got %.2f want at least 0.8", got)
	}
	if got, below := with.share(throttle.High), with.share(throttle.Low); got < 2*below {
		t.Errorf("got %.2f of High, %.2f of Low want more than twice as much", got, below)
	}
}
