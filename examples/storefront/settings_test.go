package main

import (
	"errors"
	"flag"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/spillway-go/spillway/examples/storefront/shop"
	"github.com/spillway-go/spillway/throttle"
)

func TestParse(t *testing.T) {
	busy := shop.Settings{Load: 10, Capacity: 2000, Throttled: true, Policy: throttle.SRE}
	outage, _ := findScenario("outage")
	for args, want := range map[string]settings{
		"":                           {listen: "127.0.0.1:8080", shop: shop.Calm()},
		"-scenario none -duration=0": {listen: "127.0.0.1:8080", shop: shop.Calm()},
		"-healthcheck -listen :8080": {listen: ":8080", shop: shop.Calm(), healthcheck: true},
		"-listen [::1]:0 -open -duration 20s -load 10 -capacity 2000 -policy sre -scenario outage": {
			listen: "[::1]:0", open: true, duration: 20 * time.Second, shop: busy, scenario: outage,
		},
	} {
		if got, err := parse(strings.Fields(args)); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: got %+v, error %v want %+v", args, got, err, want)
		}
	}
	if _, err := parse([]string{"-h"}); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("-h: got error %v want flag.ErrHelp", err)
	}
}

func TestParseRefuses(t *testing.T) {
	for _, tt := range []struct{ args, want string }{
		{"-load 10.5", `invalid value "10.5" for flag -load: want 0 to 10 times the capacity`},
		{"-capacity 49", `invalid value "49" for flag -capacity: want 50 to 2000 calls per second`},
		{"-duration -5s", `invalid value "-5s" for flag -duration: want 0 or a duration such as 30s, from 1s to 168h0m0s`},
		{"-policy fair", `invalid value "fair" for flag -policy: throttle.Policy is "fair": want tiered or sre`},
		{"-scenario flood", `invalid value "flood" for flag -scenario: want overload, outage, brownout, slow, tour or none`},
		{"-healthcheck -scenario tour", `-healthcheck starts no storefront: leave out -scenario`},
		{"-healthcheck -duration 20s -listen :8080", `leave out -duration`},
		{"-healthcheck -listen :0", `-healthcheck needs the port of the storefront: -listen is :0`},
	} {
		t.Run(tt.args, func(t *testing.T) {
			if _, err := parse(strings.Fields(tt.args)); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("parse: got error %v want one with %q", err, tt.want)
			}
		})
	}
}
