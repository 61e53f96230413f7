package throttle_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"syscall"
	"time"

	"github.com/deixis/faults"
	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/throttletest"
)

// ctx and recommend stand for what the program around the examples has: a request's context and a call to a backend.
var ctx = context.Background()

func recommend(_ context.Context, user string) ([]string, error) {
	if user == "" {
		return nil, faults.NotFound
	}
	return []string{"apples", "pears"}, nil
}

// down is a call to a backend that is out of capacity.
func down(context.Context) error { return faults.Unavailable(0) }

// struggling returns a throttle that sheds the calls of Low priority. The draws see to that.
func struggling(c throttle.Config) *throttle.Throttle {
	c.Name, c.Rand = "recommendations", func() float64 { return 0 }
	th := throttle.Must(throttle.New(c))
	for range 20 {
		_ = th.Do(ctx, throttle.Low, down)
	}
	return th
}

func Example() {
	th := throttle.Must(throttle.New(throttle.Config{Name: "recommendations"}))

	err := th.Do(ctx, throttle.Medium, func(ctx context.Context) error {
		products, err := recommend(ctx, "ann") // your call to the backend
		fmt.Println("we recommend", products)
		return err
	})
	if errors.Is(err, throttle.ErrShed) {
		fmt.Println("shed: the backend is overloaded, and the call was not sent")
	}
	// Output:
	// we recommend [apples pears]
}

// The backend can serve a hundred calls a second, and is sent four times as many for a minute.
func Example_overload() {
	// With these dice no High call is shed. The log of one that begins and ends would depend on the machine.
	dice, clock, room := rand.New(rand.NewPCG(1, 15)), throttletest.NewClock(time.Unix(0, 0)), 0
	th := throttle.Must(throttle.New(throttle.Config{
		Name:  "recommendations",
		Hooks: throttle.LogHooks(slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: stable}))),
		Now:   clock.Now,
		Rand:  dice.Float64,
	}))
	backend := func(context.Context) error {
		if room == 0 {
			return faults.Unavailable(time.Second)
		}
		room--
		return nil
	}
	for range 60 * 100 {
		clock.Advance(10 * time.Millisecond)
		room = min(room+1, 10)
		for _, p := range dice.Perm(throttle.StandardPriorities) {
			_ = th.Do(ctx, throttle.Priority(p), backend)
		}
	}
	for _, p := range th.Stats().Priorities {
		fmt.Printf("%-9v accepted %4d  rejected %4d  shed %4d  probability %.2f\n", p.Priority,
			p.Ended.Outcome(throttle.Accepted), p.Ended.Outcome(throttle.Rejected),
			p.Shed.Sum(), p.Probability)
	}
	_ = th.Close()
	// Output:
	// level=INFO msg="throttle detected overload" throttle=recommendations reason=full background=0.00
	// level=WARN msg="throttle started to shed" throttle=recommendations priority=medium probability=0.99 cause=above
	// level=WARN msg="throttle started to shed" throttle=recommendations priority=important probability=0.99 cause=own
	// level=WARN msg="throttle started to shed" throttle=recommendations priority=low probability=0.99 cause=above
	// high      accepted 5896  rejected  104  shed    0  probability 0.00
	// important accepted   99  rejected   82  shed 5819  probability 0.97
	// medium    accepted    2  rejected    4  shed 5994  probability 1.00
	// low       accepted    3  rejected    4  shed 5993  probability 1.00
	// level=INFO msg="throttle stopped shedding" throttle=recommendations priority=important shed=5819 peak_probability=1.00 faults.availability=82
	// level=INFO msg="throttle stopped shedding" throttle=recommendations priority=medium shed=5994 peak_probability=1.00 faults.availability=4
	// level=INFO msg="throttle stopped shedding" throttle=recommendations priority=low shed=5993 peak_probability=1.00 faults.availability=4
}

// stable leaves out of a log what is different each time.
func stable(_ []string, a slog.Attr) slog.Attr {
	switch {
	case a.Key == slog.TimeKey, a.Key == "duration":
		return slog.Attr{}
	case a.Value.Kind() == slog.KindFloat64:
		return slog.String(a.Key, fmt.Sprintf("%.2f", a.Value.Float64()))
	}
	return a
}

func ExampleDo() {
	th := throttle.Must(throttle.New(throttle.Config{Name: "recommendations"}))
	products, err := throttle.Do(ctx, th, throttle.Medium, func(ctx context.Context) ([]string, error) {
		return recommend(ctx, "ann")
	})
	fmt.Println(products, err)
	// Output:
	// [apples pears] <nil>
}

func ExampleDo_fallback() {
	th := struggling(throttle.Config{})
	products, err := throttle.Do(ctx, th, throttle.Low, func(ctx context.Context) ([]string, error) {
		return recommend(ctx, "ann")
	}, func(_ context.Context, err error, local bool) ([]string, error) {
		fmt.Println("not sent:", local, "because", err) // local is false if recommend returned err
		return []string{"our best sellers"}, nil
	})
	fmt.Println(products, err)
	// Output:
	// not sent: true because throttle: recommendations shed a call of low priority
	// [our best sellers] <nil>
}

func ExampleThrottle_Admit() {
	th := throttle.Must(throttle.New(throttle.Config{Name: "recommendations"}))
	call, err := th.Admit(ctx, throttle.High)
	if err != nil {
		fmt.Println("shed:", err)
		return
	}
	products, err := recommend(call.Context(), "ann")
	call.Done(err)

	fmt.Println(products, "accepted:", th.Stats().Priorities[throttle.High].Window.Accepted)
	// Output:
	// [apples pears] accepted: 1
}

// message is what a broker delivers.
type message struct {
	text     string
	priority throttle.Priority
}

func (m message) handle(context.Context) error {
	fmt.Println("handled:", m.text)
	return nil
}

func (m message) deliverLater() { fmt.Println("back to the broker:", m.text) }

// A consumer of a queue is a server too: it sheds messages while its process has no processor for them.
func ExampleThrottle_AdmitLocal() {
	orders := throttle.Must(throttle.New(throttle.Config{Name: "orders"}))
	consume := func(m message) {
		call, err := orders.AdmitLocal(ctx, m.priority)
		if err != nil {
			m.deliverLater() // errors.Is(err, throttle.ErrShed), or ctx has ended
			return
		}
		call.Done(m.handle(call.Context()))
	}
	consume(message{"ann buys pears", throttle.High})
	consume(message{"statistics of May", throttle.Low})
	// Output:
	// handled: ann buys pears
	// handled: statistics of May
}

func ExampleGroup() {
	hosts, err := throttle.NewGroup(func(host string) throttle.Config {
		fmt.Println("first call to", host)
		return throttle.Config{Name: "webhooks", Window: 30 * time.Second}
	}, throttle.GroupConfig{Max: 500, Idle: time.Minute})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, host := range []string{"a.example", "b.example", "a.example"} {
		th, err := hosts.Get(host)
		if err != nil {
			fmt.Println(err)
			return
		}
		_ = th.Do(ctx, throttle.Medium, func(context.Context) error { return nil })
	}
	fmt.Println("throttles:", hosts.Len())
	_ = hosts.Close()
	_, err = hosts.Get("a.example")
	fmt.Println(errors.Is(err, throttle.ErrClosed))
	// Output:
	// first call to a.example
	// first call to b.example
	// throttles: 2
	// true
}

// Who is rejected? Looking does not keep a throttle from being closed as idle.
func ExampleGroup_All() {
	hosts := throttle.Must(throttle.NewGroup(func(string) throttle.Config {
		return throttle.Config{Name: "webhooks"}
	}, throttle.GroupConfig{}))
	defer hosts.Close()
	_ = throttle.Must(hosts.Get("a.example")).Do(ctx, throttle.High, down)
	_ = throttle.Must(hosts.Get("b.example")).Do(ctx, throttle.High, func(context.Context) error { return nil })

	for host, th := range hosts.All() {
		fmt.Println(host, "rejected", th.Stats().Priorities[throttle.High].Ended.Outcome(throttle.Rejected))
	}
	// Output:
	// b.example rejected 0
	// a.example rejected 1
}

func ExampleGroup_Lookup() {
	hosts := throttle.Must(throttle.NewGroup(func(string) throttle.Config {
		return throttle.Config{Name: "webhooks"}
	}, throttle.GroupConfig{}))
	defer hosts.Close()
	_ = throttle.Must(hosts.Get("a.example")).Do(ctx, throttle.High, func(context.Context) error { return nil })

	for _, host := range []string{"a.example", "b.example"} {
		th, ok := hosts.Lookup(host)
		if !ok {
			fmt.Println(host, "was not called lately")
			continue
		}
		fmt.Println(host, "admitted", th.Stats().Priorities[throttle.High].Admitted)
	}
	fmt.Println("throttles:", hosts.Len())
	// Output:
	// a.example admitted 1
	// b.example was not called lately
	// throttles: 1
}

func ExampleWithPriority() {
	th := throttle.Must(throttle.New(throttle.Config{Name: "recommendations"}))

	ctx := throttle.WithPriority(ctx, throttle.High) // this request matters, whatever it calls
	_ = th.Do(ctx, throttle.Medium, func(context.Context) error { return nil })

	for _, p := range th.Stats().Priorities {
		fmt.Println(p.Priority, p.Window.Requests())
	}
	// Output:
	// high 1
	// important 0
	// medium 0
	// low 0
}

func ExampleWithTenant() {
	dice, now, last := rand.New(rand.NewPCG(1, 2)), time.Unix(0, 0), time.Time{}
	th := throttle.Must(throttle.New(throttle.Config{
		Name: "orders", Rand: dice.Float64, Now: func() time.Time { return now },
	}))
	backend := func(context.Context) error { // serves a call every 3 ms
		if now.Sub(last) < 3*time.Millisecond {
			return faults.Unavailable(0)
		}
		last = now
		return nil
	}

	shed := map[string]int{}
	for i := range 10_000 {
		customer := "greedy"
		if i%50 == 0 {
			customer = "modest"
		}
		now = now.Add(time.Millisecond)
		var e *throttle.ShedError
		err := th.Do(throttle.WithTenant(ctx, customer), throttle.Medium, backend)
		if errors.As(err, &e) && e.Tenant {
			shed[customer]++ // because it takes more than its share
		}
	}
	fmt.Println("of the greedy one:", shed["greedy"] > 1000, "of the modest one:", shed["modest"] > 0)
	// Output: of the greedy one: true of the modest one: false
}

func ExampleTenants() {
	th := throttle.Must(throttle.New(throttle.Config{Name: "mail"}))
	send := func(context.Context) error { return nil }
	paid := func(account string) bool { return account == "account 17" }

	err := th.Do(throttle.WithTenant(ctx, "account 17"), throttle.Medium, send)
	shares := throttle.Config{Name: "shop", Tenants: throttle.Tenants{
		Weight: func(account string) float64 {
			if paid(account) {
				return 4
			}
			return 1
		},
	}}
	shop := throttle.Must(throttle.New(shares))
	fmt.Println(err, shop.Stats().Priorities[throttle.Medium].Tenants.Above)
	// Output: <nil> 0
}

func ExampleMarkRejected() {
	th := throttle.Must(throttle.New(throttle.Config{Name: "recommendations"}))
	err := th.Do(ctx, throttle.Medium, func(context.Context) error {
		return throttle.MarkRejected(errors.New("too many connections"))
	})
	fmt.Println(err)
	fmt.Println("rejected:", th.Stats().Priorities[throttle.Medium].Window.Rejected)
	// Output:
	// too many connections
	// rejected: 1
}

func ExampleMarkOverloaded() {
	th := throttle.Must(throttle.New(throttle.Config{Name: "recommendations"}))
	for _, err := range []error{
		throttle.MarkOverloaded(errors.New("the queue is full")),
		throttle.MarkRejected(errors.New("connection refused")), // full, or down?
	} {
		_ = th.Do(ctx, throttle.Medium, func(context.Context) error { return err })
	}
	medium := th.Stats().Priorities[throttle.Medium]
	fmt.Println("rejected:", medium.Window.Rejected, "overloaded:", medium.Overloaded)
	// Output:
	// rejected: 2 overloaded: 1
}

func ExampleFirst() {
	th := throttle.Must(throttle.New(throttle.Config{
		Name: "recommendations",
		Classify: throttle.First(
			throttle.RejectIf(func(err error) bool { return errors.Is(err, syscall.ECONNRESET) }),
			throttle.AcceptIf(func(err error) bool { return errors.Is(err, context.DeadlineExceeded) }),
		),
	}))
	for _, err := range []error{syscall.ECONNRESET, context.DeadlineExceeded, faults.Unavailable(0), io.EOF} {
		_ = th.Do(ctx, throttle.High, func(context.Context) error { return err })
	}
	window := th.Stats().Priorities[throttle.High].Window
	fmt.Println("rejected:", window.Rejected, "accepted:", window.Accepted)
	// Output:
	// rejected: 2 accepted: 2
}

// A throttle in Shadow sheds nothing, but tells what it would have shed.
func ExampleMode() {
	th := struggling(throttle.Config{Mode: throttle.ModeShadow})
	fmt.Println("in shadow the backend rejects it:", faults.IsUnavailable(th.Do(ctx, throttle.Low, down)))

	err := th.Tune(throttle.Patch{Mode: new(throttle.ModeEnforce)})
	fmt.Println("tuned:", err)
	fmt.Println("enforced:", th.Do(ctx, throttle.Low, down))
	// Output:
	// in shadow the backend rejects it: true
	// tuned: <nil>
	// enforced: throttle: recommendations shed a call of low priority
}

func ExampleLogHooks() {
	logger := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: stable}))
	th := throttle.Must(throttle.New(throttle.Config{
		Name:  "recommendations",
		Hooks: throttle.LogHooks(logger),
	}))
	err := th.Do(ctx, throttle.High, down)
	fmt.Println("rejected:", faults.IsUnavailable(err)) // one rejection is no reason to shed, so nothing is logged
	// Output:
	// rejected: true
}

func ExampleJoinHooks() {
	count := 0
	counting := throttle.Hooks{Shed: func(context.Context, throttle.ShedEvent) { count++ }}
	printing := throttle.Hooks{Shed: func(_ context.Context, e throttle.ShedEvent) {
		if count == 1 {
			fmt.Printf("%s sheds %v, because of %v rejections\n", e.Throttle.Name(), e.Priority, e.Cause)
		}
	}}
	struggling(throttle.Config{Hooks: throttle.JoinHooks(counting, printing)})
	fmt.Println("shed:", count)
	// Output:
	// recommendations sheds low, because of own rejections
	// shed: 4
}

func ExampleTrust() {
	trust := throttle.Trust{
		Peer:    func(context.Context) bool { return true }, // a client certificate of ours, say
		Ceiling: throttle.Important,
		Default: throttle.Low,
	}
	for _, word := range []string{"medium", "high", "urgent", ""} {
		fmt.Printf("%q is %v\n", word, trust.Accept(ctx, word))
	}
	// Output:
	// "medium" is medium
	// "high" is important
	// "urgent" is low
	// "" is low
}

// Most servers trust no sender. The zero Trust gives every call Medium.
func ExampleTrust_zero() {
	var trust throttle.Trust
	fmt.Println(trust.Accept(ctx, "high"), trust.Accept(ctx, ""))
	// Output:
	// medium medium
}

// SRE is the documented formula, and nothing else.
func ExamplePolicy() {
	th := throttle.Must(throttle.New(throttle.Config{
		Name:   "recommendations",
		Policy: throttle.SRE,
	}))

	s := th.Stats()
	fmt.Println(s.Policy, "over", s.Window)
	// Output:
	// sre over 1m0s
}

// The state says why Tiered sheds. Background is the exit if it takes errors for overload.
func ExampleStats_state() {
	clock := throttletest.NewClock(time.Unix(0, 0))
	th := throttle.Must(throttle.New(throttle.Config{Name: "recommendations", Now: clock.Now, Rand: func() float64 { return 0.5 }}))
	calls := func(n int, err error) {
		for range n {
			clock.Advance(10 * time.Millisecond)
			_ = th.Do(ctx, throttle.Low, func(context.Context) error { return err })
		}
	}
	calls(6000, nil)
	fmt.Println(th.Stats().State)
	calls(100, context.DeadlineExceeded)
	fmt.Println(th.Stats().State)
	_ = th.Tune(throttle.Patch{Background: new(0.5)})
	fmt.Println(th.Stats().State)
	// Output:
	// quiet background=0
	// alert: ratio background=0
	// alert: ratio background=0.5
}

// Modes, policies, priorities and whatever else has words can be read from flags and files.
func ExampleMode_UnmarshalText() {
	var settings struct {
		Mode    throttle.Mode
		Default throttle.Priority
	}
	err := json.Unmarshal([]byte(`{"Mode": "shadow", "Default": "medium"}`), &settings)
	fmt.Println(settings.Mode, settings.Default, err)

	flags := flag.NewFlagSet("shop", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.TextVar(&settings.Mode, "throttle", throttle.ModeEnforce, "`enforce`, shadow or off")
	fmt.Println(flags.Parse([]string{"-throttle", "on"}))
	// Output:
	// shadow medium <nil>
	// invalid value "on" for flag -throttle: throttle.Mode is "on": want enforce, shadow or off
}

// SlowAuto learns Slow from the calls that the backend accepts.
func ExampleConfig_slowAuto() {
	now := time.Unix(0, 0) // a clock for the example; leave Config.Now nil
	orders := throttle.Must(throttle.New(throttle.Config{Name: "orders", SlowAuto: true, Now: func() time.Time { return now }}))
	for range 200 {
		_ = orders.Do(context.Background(), throttle.High, func(context.Context) error {
			now = now.Add(80 * time.Millisecond) // query the backend
			return nil
		})
	}
	fmt.Println("late after", orders.Stats().Slow.Learned)
	// Output: late after 400ms
}

// The requests of a server are shed while they wait for a processor, unless that is turned off.
func ExampleConfig_processorWait() {
	th := throttle.Must(throttle.New(throttle.Config{Name: "shop", ProcessorWait: 50 * time.Millisecond}))
	err := th.Tune(throttle.Patch{ProcessorWait: new(throttle.Duration(-1))}) // 0 is the default again
	now, _ := th.Tuning()
	fmt.Println(now.ProcessorWait < 0, err)
	// Output: true <nil>
}

// Settings that may change at run time can be read, with and without those of an operator.
func ExampleThrottle_Tuning() {
	stock := throttle.Must(throttle.New(throttle.Config{Name: "stock", SlowAuto: true, CanceledAfter: time.Second}))
	err := stock.Override(throttle.SourceHTTP, throttle.Patch{
		Slow: new(throttle.Duration(300 * time.Millisecond)), SlowGate: new(throttle.ModeOff), SlowAuto: new(false),
	})
	now, code := stock.Tuning()
	fmt.Println(now.Slow, now.SlowGate, now.SlowAuto, now.CanceledAfter, err)
	fmt.Println(code.Slow, code.SlowGate, code.SlowAuto, code.CanceledAfter)
	// Output:
	// 300ms off false 1s <nil>
	// 0s enforce true 1s
}

func ExampleConfig_slow() {
	orders := throttle.Must(throttle.New(throttle.Config{Name: "orders", Slow: 150 * time.Millisecond}))
	err := orders.Do(context.Background(), throttle.High, func(context.Context) error {
		return nil // query the backend
	})
	fmt.Println(err, orders.Stats().Slow.Slow)
	// Output: <nil> 150ms
}
