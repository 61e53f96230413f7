package monitoring

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/prometheus/client_golang/api"
	v1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"

	"github.com/spillway-go/spillway/internal/integration/program"
	"github.com/spillway-go/spillway/throttle"
)

type server struct {
	*program.Server
	v1.API

	at time.Time // for which it is asked; zero is now
}

// answering returns a Prometheus that answers questions for a time.
func answering(t testing.TB, p *program.Server, at time.Time) server {
	t.Helper()
	c := throttle.Must(api.NewClient(api.Config{Address: p.URL(""), Client: client()}))
	return server{p, v1.NewAPI(c), at}
}

func (s server) now() time.Time {
	if s.at.IsZero() {
		return time.Now()
	}
	return s.at
}

func (s server) instant(expr string) (model.Vector, error) {
	value, _, err := s.Query(context.Background(), expr, s.now())
	if one, ok := value.(*model.Scalar); ok {
		return model.Vector{{Value: one.Value}}, err
	}
	all, _ := value.(model.Vector)
	return all, err
}

// graph returns what an expression was in the last moments.
func (s server) graph(expr string) (all model.Vector, err error) {
	now := s.now()
	value, _, err := s.QueryRange(context.Background(), expr, v1.Range{Start: now.Add(-10 * time.Second), End: now, Step: time.Second})
	lines, _ := value.(model.Matrix)
	for _, line := range lines {
		for _, x := range line.Values {
			all = append(all, &model.Sample{Metric: line.Metric, Value: x.Value})
		}
	}
	return all, err
}

// missing says what is missing of an answer: an error, or a number.
func missing(all model.Vector, err error) string {
	if err != nil {
		return err.Error()
	}
	for _, x := range all {
		if x.Histogram == nil && !math.IsNaN(float64(x.Value)) {
			return ""
		}
	}
	return fmt.Sprintf("%d series without a number", len(all))
}

// traced reports whether some exemplar of an expression leads to a trace.
func (s server) traced(expr string) (bool, error) {
	now := time.Now()
	found, err := s.QueryExemplars(context.Background(), expr, now.Add(-time.Minute), now)
	for _, one := range found {
		for _, e := range one.Exemplars {
			if len(e.Labels["trace_id"]) == 32 {
				return true, err
			}
		}
	}
	return false, err
}

// An alarm is an alert as Prometheus or Alertmanager sees it.
type alarm struct {
	State       string // of Prometheus
	Labels      map[string]string
	Annotations map[string]string

	Fingerprint string // of Alertmanager
	Status      struct {
		State       string
		InhibitedBy []string
	}
}

func (s server) get(list string, into any) error {
	response, err := client().Get(s.Server.URL("/api/v1/" + list))
	if err != nil {
		return err
	}
	defer response.Body.Close()
	return json.NewDecoder(response.Body).Decode(&struct{ Data any }{Data: into})
}

func (s server) alerts() ([]alarm, error) {
	var data struct{ Alerts []alarm }
	err := s.get("alerts", &data)
	return data.Alerts, err
}

// sick returns the rules that cannot be evaluated, and why.
func (s server) sick() ([]string, error) {
	var data struct {
		Groups []struct {
			Rules []struct{ Name, Health, LastError string }
		}
	}
	err := s.get("rules", &data)
	var all []string
	for _, g := range data.Groups {
		for _, r := range g.Rules {
			if r.Health != "ok" {
				all = append(all, r.Name+" is "+r.Health+": "+r.LastError)
			}
		}
	}
	return all, err
}

func (s server) targets() (up int, down []string, err error) {
	all, err := s.Targets(context.Background())
	for _, one := range all.Active {
		if one.Health == v1.HealthGood {
			up++
		} else {
			down = append(down, fmt.Sprint(one.ScrapeURL, " is ", one.Health, ": ", one.LastError))
		}
	}
	return up, down, err
}
