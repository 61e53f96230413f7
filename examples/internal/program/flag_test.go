package program

import (
	"errors"
	"flag"
	"strings"
	"testing"
	"time"
)

// values are what the flags of the tests set.
type values struct {
	workers  int
	share    float64
	duration time.Duration
	listen   string
}

func parse(args string) (values, error) {
	v := values{duration: time.Minute}
	flags := flag.NewFlagSet("shop", flag.ContinueOnError)
	flags.Func("workers", "", Whole(&v.workers, 1, 9, "workers"))
	flags.Func("share", "", Number(&v.share, 0, 0.5, "of the workers"))
	flags.Func("duration", "", Duration(&v.duration))
	flags.Func("listen", "", Address(&v.listen, "127.0.0.1:8080"))
	return v, Parse(flags, strings.Fields(args))
}

func TestFlagsInTheirRange(t *testing.T) {
	for args, want := range map[string]values{
		"":                         {duration: time.Minute},
		"-workers 1 -duration 1s":  {workers: 1, duration: time.Second},
		"-workers 9 -duration 24h": {workers: 9, duration: 24 * time.Hour},
		"-listen [::1]:0":          {listen: "[::1]:0", duration: time.Minute},
		"-duration 0":              {},
	} {
		if got, err := parse(args); got != want || err != nil {
			t.Errorf("%s: got %+v, error %v want %+v", args, got, err, want)
		}
	}
}

func TestFlagsOutOfTheirRange(t *testing.T) {
	for args, want := range map[string]string{
		"-workers 0":       `invalid value "0" for flag -workers: want 1 to 9 workers`,
		"-workers 1e0":     `want 1 to 9 workers`,
		"-share 0.6":       `invalid value "0.6" for flag -share: want 0 to 0.5 of the workers`,
		"-share NaN":       `want 0 to 0.5`,
		"-duration 999ms":  `want 0 or a duration such as 30s, from 1s to 24h0m0s`,
		"-duration 25h":    `want 0 or a duration such as 30s`,
		"-listen 8080":     `want host:port, such as 127.0.0.1:8080`,
		"-listen :65536":   `want a port from 0 to 65535`,
		"-verbose":         `flag provided but not defined: -verbose`,
		"-workers 1 fast":  `"fast" is not a flag: flags begin with a hyphen`,
		"-duration -1m -h": `for flag -duration`,
	} {
		if _, err := parse(args); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got error %v want one with %q", args, err, want)
		}
	}
	if _, err := parse("-h"); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("-h: got error %v want flag.ErrHelp", err)
	}
}

func TestDays(t *testing.T) {
	var d time.Duration
	if err := Days(&d)("168h"); err != nil || d != 168*time.Hour {
		t.Errorf("168h: got %v, error %v want it", d, err)
	}
}
