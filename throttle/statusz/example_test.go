package statusz_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/statusz"
)

func Example() {
	mux := http.NewServeMux()

	page := statusz.New()
	th := throttle.Must(throttle.New(throttle.Config{Name: "recommendations", Hooks: page.Hooks()}))
	mux.Handle("/debug/throttle", page) // keep it off public listeners

	defer page.Close()
	_ = th.Do(context.Background(), throttle.Medium, func(context.Context) error { return nil })

	w := httptest.NewRecorder()
	mux.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/debug/throttle?format=json", nil))
	var doc struct {
		Throttles []struct {
			Name       string
			Priorities []struct {
				Priority string
				Admitted int
			}
		}
	}
	if err := json.Unmarshal(w.Body.Bytes(), &doc); err != nil {
		fmt.Println(err)
	}
	for _, t := range doc.Throttles {
		for _, p := range t.Priorities {
			fmt.Println(t.Name, p.Priority, p.Admitted)
		}
	}
	// Output:
	// recommendations high 0
	// recommendations important 0
	// recommendations medium 1
	// recommendations low 0
}

func ExamplePage_Add() {
	page := statusz.New()
	defer page.Close()
	remove := page.Add(statusz.SourceFunc(func() statusz.Status {
		return statusz.Status{
			Kind: "bucket", Name: "exports", State: "limiting", Level: statusz.Warn,
			Figures:     []statusz.Figure{{Name: "tokens left", Value: 3}},
			Transitions: []statusz.Transition{{Time: time.Unix(0, 0), From: "granting", To: "limiting"}},
		}
	}))
	defer remove()

	w := httptest.NewRecorder()
	page.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/debug/throttle?format=json", nil))
	var doc struct {
		Sources json.RawMessage
	}
	if err := json.Unmarshal(w.Body.Bytes(), &doc); err != nil {
		fmt.Println(err)
	}
	fmt.Println(string(doc.Sources))
	// Output:
	// [{"kind":"bucket","name":"exports","state":"limiting","level":"warn","figures":[{"name":"tokens left","value":3,"unit":""}],"transitions":[{"time":"1970-01-01T00:00:00.000Z","from":"granting","to":"limiting"}]}]
}
