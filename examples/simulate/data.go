package main

import (
	"encoding/csv"
	"encoding/json"
	"io"
	"math"
	"strconv"

	"github.com/spillway-go/spillway/examples/simulate/overload"
)

// number is a figure in CSV or JSON, with six digits. A NaN is empty in CSV and null in JSON. A
// time that the run did not reach is inf in CSV, and the string "inf" in JSON.
type number float64

func (n number) String() string {
	switch x := float64(n); {
	case math.IsNaN(x):
		return ""
	case math.IsInf(x, 0):
		return "inf"
	default:
		return strconv.FormatFloat(x, 'g', 6, 64)
	}
}

// MarshalJSON writes NaN as null and an infinite number as "inf".
func (n number) MarshalJSON() ([]byte, error) {
	switch text := n.String(); text {
	case "":
		return []byte("null"), nil
	case "inf":
		return []byte(`"inf"`), nil
	default:
		return []byte(text), nil
	}
}

// writeCSV writes the report as RFC 4180 requires. It has a row per scenario and policy, and four
// columns per figure.
func writeCSV(w io.Writer, r report) error {
	out := csv.NewWriter(w)
	out.UseCRLF = true
	header := []string{"scenario", "policy", "seeds"}
	for _, name := range overload.FigureNames() {
		header = append(header, name+"_mean", name+"_deviation", name+"_min", name+"_max")
	}
	rows := [][]string{header}
	for _, of := range r.results {
		row := []string{of.scenario.Name, of.policy.Name, strconv.Itoa(len(of.Seeds))}
		for _, name := range overload.FigureNames() {
			f := figureNamed(of, name)
			row = append(row, f.Mean.String(), f.Deviation.String(), f.Min.String(), f.Max.String())
		}
		rows = append(rows, row)
	}
	return out.WriteAll(rows)
}

type figureData struct {
	Mean      number `json:"mean"`
	Deviation number `json:"deviation"`
	Min       number `json:"min"`
	Max       number `json:"max"`
}

// figureNamed returns a figure of a result, with NaN for an unknown name.
func figureNamed(of result, name string) figureData {
	f, known := of.Figures[name]
	if !known {
		nan := number(math.NaN())
		return figureData{nan, nan, nan, nan}
	}
	return figureData{number(f.Mean), number(f.Deviation), number(f.Min), number(f.Max)}
}

// settingsData are the flags that change scenarios and policies. A flag that is not set is null.
type settingsData struct {
	Clients       *int     `json:"clients"`
	Capacity      *float64 `json:"capacity"`
	RejectionCost *float64 `json:"rejection_cost"`
	Certain       *bool    `json:"certain"`
	Ratio         *float64 `json:"ratio"`
	MinimumRate   *float64 `json:"minimum_rate"`
	SlowSeconds   *float64 `json:"slow_seconds"`
	WindowSeconds *float64 `json:"window_seconds"`
	Target        *float64 `json:"target"`
	Background    *float64 `json:"background"`
}

type resultData struct {
	Scenario string                `json:"scenario"`
	Policy   string                `json:"policy"`
	Seeds    []uint64              `json:"seeds"`
	Figures  map[string]figureData `json:"figures"`
}

type reportData struct {
	Settings settingsData `json:"settings"`
	Seeds    []uint64     `json:"seeds"`
	Runs     struct {
		Planned  int `json:"planned"`
		Complete int `json:"complete"`
	} `json:"runs"`
	Results []resultData `json:"results"`
}

// writeJSON writes the report as an object with settings, seeds, runs and results.
func writeJSON(w io.Writer, r report) error {
	data := reportData{Settings: settingsOf(r.settings.options), Seeds: r.settings.seeds, Results: []resultData{}}
	data.Runs.Planned, data.Runs.Complete = r.planned, r.done
	for _, of := range r.results {
		figures := make(map[string]figureData)
		for _, name := range overload.FigureNames() {
			figures[name] = figureNamed(of, name)
		}
		data.Results = append(data.Results, resultData{of.scenario.Name, of.policy.Name, of.Seeds, figures})
	}
	out := json.NewEncoder(w)
	out.SetIndent("", "  ")
	return out.Encode(data)
}

func settingsOf(o overload.Options) settingsData {
	return settingsData{
		Clients:       unlessZero(o.Clients, o.Clients),
		Capacity:      unlessZero(o.Capacity, o.Capacity),
		RejectionCost: unlessZero(o.RejectionCost, max(0, o.RejectionCost)),
		Certain:       unlessZero(o.Certain, o.Certain),
		Ratio:         unlessZero(o.Settings.Ratio, o.Settings.Ratio),
		MinimumRate:   unlessZero(o.Settings.MinimumRate, o.Settings.MinimumRate),
		SlowSeconds:   unlessZero(o.Settings.Slow, o.Settings.Slow.Seconds()),
		WindowSeconds: unlessZero(o.Settings.Window, o.Settings.Window.Seconds()),
		Target:        unlessZero(o.Settings.TargetRejection, o.Settings.TargetRejection),
		Background:    unlessZero(o.Settings.Background, o.Settings.Background),
	}
}

// unlessZero returns a pointer to value, or nil if the option is zero.
func unlessZero[O, V comparable](option O, value V) *V {
	if option == *new(O) {
		return nil
	}
	return &value
}
