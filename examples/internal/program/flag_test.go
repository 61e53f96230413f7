package program

import (
	"errors"
	"flag"
	"strings"
	"testing"
	"time"
)

// values are what the flags of the tests take.
type values struct {
	workers  int
	duration time.Duration
	listen   string
	seed     uint64
}

func parse(args string) (values, error) {
	var v values
	flags := flag.NewFlagSet("shop", flag.ContinueOnError)
	flags.Func("workers", "", Whole(&v.workers, 1, 9, "workers"))
	flags.Func("duration", "", Duration(&v.duration, time.Second, time.Minute, "30s"))
	flags.Func("listen", "", Address(&v.listen, "127.0.0.1:8080"))
	flags.Func("seed", "", Seed(&v.seed))
	return v, Parse(flags, strings.Fields(args))
}

func TestFlagsTakeWhatIsInTheirRange(t *testing.T) {
	for args, want := range map[string]values{
		"":                              {},
		"-workers 1 -duration 1s":       {workers: 1, duration: time.Second},
		"-workers 9 -duration 60s":      {workers: 9, duration: time.Minute},
		"-listen [::1]:0 -seed 0":       {listen: "[::1]:0"},
		"-listen :65535":                {listen: ":65535"},
		"-seed 18446744073709551615":    {seed: 1<<64 - 1},
		"-workers 3 -workers 4 -seed 2": {workers: 4, seed: 2},
	} {
		got, err := parse(args)
		if got != want || err != nil {
			t.Errorf("%s: got %+v, error %v want %+v", args, got, err, want)
		}
	}
}

func TestFlagsRefuseTheRest(t *testing.T) {
	for args, want := range map[string]string{
		"-workers 0":                 `invalid value "0" for flag -workers: want 1 to 9 workers`,
		"-workers 10":                `want 1 to 9 workers`,
		"-workers 1e0":               `want 1 to 9 workers`,
		"-duration 999ms":            `want a duration such as 30s, from 1s to 1m0s`,
		"-duration 61s":              `want a duration such as 30s`,
		"-duration 30":               `want a duration such as 30s`,
		"-listen 8080":               `want host:port, such as 127.0.0.1:8080`,
		"-listen :http":              `want a port from 0 to 65535`,
		"-listen :65536":             `want a port from 0 to 65535`,
		"-seed -1":                   `want a whole number from 0 to 2^64-1`,
		"-seed 18446744073709551616": `want a whole number from 0 to 2^64-1`,
		"-verbose":                   `flag provided but not defined: -verbose`,
		"-workers 1 fast":            `"fast" is not a flag: flags begin with a hyphen`,
	} {
		if _, err := parse(args); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got error %v want one with %q", args, err, want)
		}
	}
	if _, err := parse("-h"); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("-h: got error %v want flag.ErrHelp", err)
	}
}
