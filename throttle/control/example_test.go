package control_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/control"
)

// A file switches a throttle off. When the line is gone, the setting is that of the code again.
func Example() {
	ctl := throttle.Must(control.New(control.Config{}))
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
	ctl := throttle.Must(control.New(control.Config{}))
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

// One document for a fleet: a server of HTTP has it, and each service takes the parts for its labels.
func ExampleControl_WatchFunc() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"services": [
			{"match": {"service": "shop"}, "throttles": {"stock": {"mode": "shadow"}}},
			{"match": {"service": "shop", "cluster": "eu"}, "throttles": {"stock": {"mode": "off", "reason": "INC-7"}}}
		]}`)
	}))
	defer server.Close()
	for _, cluster := range []string{"eu", "us"} {
		ctl := throttle.Must(control.New(control.Config{Labels: map[string]string{"service": "shop", "cluster": cluster}}))
		defer ctl.Close()
		stock := throttle.Must(throttle.New(throttle.Config{Name: "stock", Hooks: ctl.ThrottleHooks()}))
		if err := ctl.WatchFunc(context.Background(), server.URL, 0, control.ReadURL(nil, server.URL)); err != nil {
			panic(err)
		}
		fmt.Println(cluster, stock.Stats().Mode)
	}
	// Output:
	// eu off
	// us shadow
}

// readEtcd returns a function for WatchFunc that reads a key by the HTTP gateway of etcd.
func readEtcd(address, key string) func(context.Context) ([]byte, error) {
	return func(ctx context.Context) ([]byte, error) {
		body, err := json.Marshal(map[string][]byte{"key": []byte(key)}) // in base64, as the gateway wants it
		if err != nil {
			return nil, err
		}
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, address+"/v3/kv/range", bytes.NewReader(body))
		if err != nil {
			return nil, err
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return nil, err
		}
		defer response.Body.Close()
		var found struct{ Kvs []struct{ Value []byte } }
		if err := json.NewDecoder(io.LimitReader(response.Body, 2*control.MaxDocument)).Decode(&found); err != nil || len(found.Kvs) != 1 {
			return nil, fmt.Errorf("%d values of %s, error %w", len(found.Kvs), key, err)
		}
		return found.Kvs[0].Value, nil
	}
}

// A document in etcd needs a function of a few lines. One in Consul needs none: its URL with ?raw is for ReadURL.
func ExampleControl_WatchFunc_etcd() {
	etcd := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { // as etcd answers
		fmt.Fprintf(w, `{"kvs": [{"value": %q}]}`, base64.StdEncoding.EncodeToString([]byte(`{"throttles": {"stock": {"mode": "shadow"}}}`)))
	}))
	defer etcd.Close()
	ctl := throttle.Must(control.New(control.Config{}))
	defer ctl.Close()
	stock := throttle.Must(throttle.New(throttle.Config{Name: "stock", Hooks: ctl.ThrottleHooks()}))
	if err := ctl.WatchFunc(context.Background(), "etcd", 0, readEtcd(etcd.URL, "/spillway/control.json")); err != nil {
		panic(err)
	}
	fmt.Println(stock.Stats().Mode, ctl.Status().File.Error)
	// Output: shadow
}

func ExampleControl_Handler() {
	ctl := throttle.Must(control.New(control.Config{}))
	handler := throttle.Must(ctl.Handler(func(r *http.Request) (string, error) {
		who, password, _ := r.BasicAuth()
		return checkPassword(who, password)
	}))
	http.Handle("/debug/throttle/control", handler)

	_, err := ctl.Handler(nil)
	fmt.Println(err)
	// Output: control: Handler: Authorize is nil: want a function that returns who sends a request
}

func checkPassword(who, _ string) (string, error) { return who, nil }
