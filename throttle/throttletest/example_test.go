package throttletest_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/throttletest"
)

// A program calls its backend through a throttle. What does it do when the backend goes down?
func Example() {
	clock := throttletest.NewClock(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC))
	backend := throttle.Must(throttletest.NewBackend(throttletest.BackendConfig{Now: clock.Now}))
	rec := throttletest.NewRecorder()
	th := throttle.Must(throttle.New(throttle.Config{
		Name: "orders", Hooks: rec.Hooks(), Now: clock.Now, Rand: throttletest.Always(0), // sheds every call with a probability above 0
	}))

	call := func(p throttle.Priority) {
		clock.Advance(time.Second)
		_ = th.Do(context.Background(), p, backend.Call)
	}
	call(throttle.Low)
	backend.SetOutage(true)
	for range 5 {
		call(throttle.Low)
	}
	call(throttle.High)

	fmt.Println("served", backend.Served(), "rejected", backend.Rejected())
	fmt.Println("started", rec.Count(throttletest.KindStarted), "shed", rec.Count(throttletest.KindShed))
	for _, e := range rec.Shed() {
		fmt.Println("shed:", e.Priority)
	}

	// Output:
	// served 1 rejected 3
	// started 4 shed 3
	// shed: low
	// shed: low
	// shed: low
}

func ExampleBackend() {
	clock := throttletest.NewClock(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC))
	backend := throttle.Must(throttletest.NewBackend(throttletest.BackendConfig{
		Capacity: 100, Now: clock.Now, // ten rejections are as much work as one served call, by default
	}))
	second := func(load int) {
		before := backend.Stats()
		for range load {
			clock.Advance(time.Second / time.Duration(load))
			_ = backend.Call(context.Background())
		}
		after := backend.Stats()
		fmt.Printf("%d calls: %d served, %d rejected\n",
			load, after.Served-before.Served, after.Rejected-before.Rejected)
	}
	second(50)
	second(100)
	second(200)
	second(500)
	second(2000)

	// Output:
	// 50 calls: 50 served, 0 rejected
	// 100 calls: 100 served, 0 rejected
	// 200 calls: 98 served, 102 rejected
	// 500 calls: 56 served, 444 rejected
	// 2000 calls: 0 served, 2000 rejected
}

func ExampleBackend_Fail() {
	backend := throttle.Must(throttletest.NewBackend(throttletest.BackendConfig{}))
	backend.Fail(errors.New("no such order"))
	fmt.Println(backend.Call(context.Background()))
	backend.Fail(nil)
	fmt.Println(backend.Call(context.Background()))

	// Output:
	// no such order
	// <nil>
}

func ExampleRecorder_Events() {
	rec := throttletest.NewRecorder()
	th := throttle.Must(throttle.New(throttle.Config{Name: "orders", Hooks: rec.Hooks()}))
	_ = th.Do(context.Background(), throttle.Important, func(context.Context) error {
		return context.DeadlineExceeded
	}, func(context.Context, error, bool) error { return nil })
	_ = th.Close()

	for _, e := range rec.Events() {
		switch e.Kind {
		case throttletest.KindFellBack:
			fmt.Println(e.Kind, e.FellBack.Outcome, e.FellBack.Err)
		case throttletest.KindPolicyChanged:
			fmt.Println(e.Kind, e.PolicyChanged.After)
		case throttletest.KindFinished:
			fmt.Println(e.Kind, e.Finished.Priority, e.Finished.Outcome, e.Finished.Fault)
		default:
			fmt.Println(e.Kind, e.Throttle.Name())
		}
	}

	// Output:
	// created orders
	// started orders
	// fell back rejected <nil>
	// finished important rejected timeout
	// closed orders
}

func ExampleSequence() {
	draw := throttletest.Sequence(0.2, 0.8)
	fmt.Println(draw(), draw(), draw())

	// Output: 0.2 0.8 0.2
}

// A backend that becomes slow, gets less capacity, and goes down.
func ExampleBackend_SetLatency() {
	synctest.Test(new(testing.T), func(*testing.T) {
		backend := throttle.Must(throttletest.NewBackend(throttletest.BackendConfig{Latency: 10 * time.Millisecond}))
		call := func() error {
			begun, others := time.Now(), backend.Stats().Active
			err := backend.Call(context.Background())
			fmt.Println("beside", others, "others:", time.Since(begun))
			return err
		}
		_ = call()
		_ = backend.SetLatency(time.Second)
		go func() { _ = backend.Call(context.Background()) }()
		time.Sleep(time.Second / 2)
		_ = call()

		_ = errors.Join(backend.SetCapacity(1), backend.SetLatency(0))
		_ = call()
		fmt.Println(errors.Is(call(), throttletest.ErrOverloaded))
		backend.SetOutage(true)
		fmt.Println(errors.Is(call(), throttletest.ErrOutage))
	})
	// Output:
	// beside 0 others: 10ms
	// beside 1 others: 1s
	// beside 0 others: 0s
	// beside 0 others: 0s
	// true
	// beside 0 others: 0s
	// true
}
