package control_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/control"
)

// A file switches a throttle off. When the line is gone, the setting is that of the code again.
func Example() {
	ctl, err := control.New(control.Config{})
	if err != nil {
		panic(err)
	}
	defer ctl.Close()
	stock := throttle.Must(throttle.New(throttle.Config{Name: "stock", Hooks: ctl.ThrottleHooks()}))

	report, err := ctl.Apply(context.Background(), control.Document{
		Throttles: map[string]*control.Throttle{"stock": {Patch: throttle.Patch{Mode: new(throttle.ModeOff)}, Terms: control.Terms{Reason: "INC-7"}}},
	})
	fmt.Println(report.Changes, err)
	fmt.Println(stock.Stats().Mode)

	_, err = ctl.Apply(context.Background(), control.Document{})
	fmt.Println(stock.Stats().Mode, err)
	// Output:
	// [throttle stock: applied, mode enforce -> off, source apply, reason "INC-7"] <nil>
	// off
	// enforce <nil>
}

func ExampleControl_Watch() {
	ctl, err := control.New(control.Config{})
	if err != nil {
		panic(err)
	}
	defer ctl.Close()
	stock := throttle.Must(throttle.New(throttle.Config{Name: "stock", Hooks: ctl.ThrottleHooks()}))

	dir, err := os.MkdirTemp("", "control")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "control.json")
	if err := os.WriteFile(path, []byte(`{"throttles": {"stock": {"mode": "shadow"}}}`), 0o600); err != nil {
		panic(err)
	}
	if err := ctl.Watch(context.Background(), path); err != nil {
		panic(err)
	}
	fmt.Println(stock.Stats().Mode)
	// Output: shadow
}

func ExampleControl_Handler() {
	ctl, err := control.New(control.Config{})
	if err != nil {
		panic(err)
	}
	handler, err := ctl.Handler(func(r *http.Request) (string, error) {
		who, password, _ := r.BasicAuth()
		return checkPassword(who, password)
	})
	if err != nil {
		panic(err)
	}
	http.Handle("/debug/throttle/control", handler)

	_, err = ctl.Handler(nil)
	fmt.Println(err)
	// Output: control: Handler: Authorize is nil: want a function that returns who sends a request
}

func checkPassword(who, _ string) (string, error) { return who, nil }
