package monitoring

import (
	"encoding/json"
	"fmt"
	"math"
	"net/url"
	"strconv"
	"time"

	"github.com/spillway-go/spillway/internal/integration/program"
)

// A server is a Prometheus that can be asked.
type server struct {
	*program.Server

	at time.Time // for which it is asked; zero is now
}

// now returns the time for which it is asked.
func (s server) now() time.Time {
	if s.at.IsZero() {
		return time.Now()
	}
	return s.at
}

// A series is what Prometheus answers, at one time or at several.
type series struct {
	Metric map[string]string
	Value  sample
	Values []sample
}

// A sample is a time and a number, which Prometheus writes as text.
type sample [2]any

// known reports whether there is a sample, and it is a number.
func (s sample) known() bool {
	text, _ := s[1].(string)
	x, err := strconv.ParseFloat(text, 64)
	return err == nil && !math.IsNaN(x)
}

// ask asks for something of the API, and reads the answer.
func (s server) ask(path string, form url.Values, into any) error {
	response, err := client().PostForm(s.URL("/api/v1/"+path), form)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	answer := struct {
		Status, Error string
		Data          any
	}{Data: into}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return err
	}
	if answer.Status != "success" {
		return fmt.Errorf("%s", answer.Error)
	}
	return nil
}

// get is for the parts of the API that only know GET.
func (s server) get(path string, form url.Values, into any) error {
	response, err := client().Get(s.URL("/api/v1/" + path + "?" + form.Encode()))
	if err != nil {
		return err
	}
	defer response.Body.Close()
	return json.NewDecoder(response.Body).Decode(&struct{ Data any }{Data: into})
}

// instant returns what an expression is now.
func (s server) instant(expr string) ([]series, error) {
	return s.vector("query", url.Values{"query": {expr}, "time": {stamp(s.now())}})
}

// graph returns what an expression was in the last moments.
func (s server) graph(expr string) ([]series, error) {
	now := s.now()
	return s.vector("query_range", url.Values{
		"query": {expr}, "start": {stamp(now.Add(-10 * time.Second))}, "end": {stamp(now)}, "step": {"1"},
	})
}

func stamp(at time.Time) string { return strconv.FormatFloat(float64(at.UnixMilli())/1000, 'f', 3, 64) }

// vector returns the series of an answer. A number that stands alone is one without labels.
func (s server) vector(path string, form url.Values) ([]series, error) {
	var data struct {
		ResultType string
		Result     json.RawMessage
	}
	if err := s.ask(path, form, &data); err != nil {
		return nil, err
	}
	if data.ResultType == "scalar" {
		var one sample
		err := json.Unmarshal(data.Result, &one)
		return []series{{Value: one}}, err
	}
	var all []series
	err := json.Unmarshal(data.Result, &all)
	return all, err
}

// missing says what is missing of an answer: an error, or a number.
func missing(all []series, err error) string {
	if err != nil {
		return err.Error()
	}
	for _, one := range all {
		for _, x := range append(one.Values, one.Value) {
			if x.known() {
				return ""
			}
		}
	}
	return fmt.Sprintf("%d series without a number", len(all))
}

// values returns the values of a label, as a variable of Grafana asks for them.
func (s server) values(label, selector string) ([]string, error) {
	var all []string
	err := s.get("label/"+label+"/values", url.Values{"match[]": {selector}}, &all)
	return all, err
}

// traced reports whether some exemplar of an expression leads to a trace.
func (s server) traced(expr string) (bool, error) {
	now := time.Now()
	var found []struct {
		Exemplars []struct{ Labels map[string]string }
	}
	err := s.ask("query_exemplars", url.Values{"query": {expr}, "start": {stamp(now.Add(-time.Minute))}, "end": {stamp(now)}}, &found)
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

// alerts returns the alerts that Prometheus has.
func (s server) alerts() ([]alarm, error) {
	var data struct{ Alerts []alarm }
	err := s.get("alerts", nil, &data)
	return data.Alerts, err
}

// sick returns the rules that cannot be evaluated, and why.
func (s server) sick() ([]string, error) {
	var data struct {
		Groups []struct {
			Rules []struct{ Name, Health, LastError string }
		}
	}
	err := s.get("rules", nil, &data)
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

// targets returns how many targets are up, and the others.
func (s server) targets() (up int, down []string, err error) {
	var data struct {
		ActiveTargets []struct{ Health, ScrapeURL, LastError string }
	}
	err = s.get("targets", nil, &data)
	for _, one := range data.ActiveTargets {
		if one.Health == "up" {
			up++
		} else {
			down = append(down, one.ScrapeURL+" is "+one.Health+": "+one.LastError)
		}
	}
	return up, down, err
}
