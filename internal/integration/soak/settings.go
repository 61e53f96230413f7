package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"time"
)

// What the flags may be.
const (
	shortestSoak, longestSoak = 10 * time.Second, 168 * time.Hour
)

// settings are what the flags say.
type settings struct {
	duration time.Duration
	patience time.Duration // for trouble that has not been seen yet when the duration is over
	format   format
	race     bool          // build the examples with the race detector
	every    time.Duration // between two looks at the children
}

// format is how the table is printed.
type format string

const (
	asText     format = "text"
	asMarkdown format = "markdown"
)

func defaults() settings {
	return settings{duration: 10 * time.Minute, patience: 3 * time.Minute, format: asText, race: true, every: 5 * time.Second}
}

// parse returns what the arguments say, or what is wrong with them. Its error is flag.ErrHelp if they ask for help.
func parse(args []string) (settings, error) {
	s := defaults()
	flags := flag.NewFlagSet("soak", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // main tells an error, without the whole usage after it
	flags.Func("duration", "", s.setDuration)
	flags.Func("format", "", s.setFormat)
	flags.BoolVar(&s.race, "race", s.race, "")
	if err := flags.Parse(args); err != nil {
		return s, err
	}
	if flags.NArg() > 0 {
		return s, fmt.Errorf("%q is not a flag: flags begin with a hyphen", flags.Arg(0))
	}
	return s, nil
}

func (s *settings) setDuration(text string) error {
	d, err := time.ParseDuration(text)
	if err != nil || d < shortestSoak || d > longestSoak {
		return fmt.Errorf("want a duration such as 10m, from %v to %v", shortestSoak, longestSoak)
	}
	s.duration = d
	return nil
}

func (s *settings) setFormat(text string) error {
	if f := format(text); f == asText || f == asMarkdown {
		s.format = f
		return nil
	}
	return errors.New("want text or markdown")
}

// story is how long one turn of an example's story should be: a tenth of the whole, so that every third of the soak has some of them, but no
// shorter than the example likes, and no longer than a minute.
func (s *settings) story(shortest time.Duration) string {
	return min(max(s.duration/10, shortest), time.Minute).Round(time.Second).String()
}

// usage is what -h tells.
const usage = `Soak lets the examples storefront, webhooks and batch run side by side, built with the race detector and in trouble all the while, and
says what grows.

usage, in internal/integration: go run ./soak [flags]

  -duration d     how long: 10s to 168h (default 10m). Beneath about two minutes there is too little to judge whether memory is flat
  -race=false     build them without the race detector, whose own memory grows: only then the memory that the system counts is judged
  -format name    of the table: text or markdown (default text)

It exits with 0 if nothing is wrong, 1 if something is, or if there was no trouble and so nothing was proved, and 2 for flags that make
no sense; go run makes a 1 of that. Ctrl-C ends it early, and what there is is judged.
`
