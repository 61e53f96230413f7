package main

import (
	"errors"
	"strings"
	"testing"
)

const goldenTable = `first: too many calls
            goodput %      High %  Important %  Medium %      Low %      sent/C    waste %   to shed s  recover s  false shed %    fairness
  good     100.0 ±0.0  98.7 ±12.3            -         -  50.0 ±0.0  1.25 ±0.25          -  0.25 ±0.00   8.1 ±0.5  0.000 ±0.000  0.90 ±0.05
  useless    6.2 ±1.2    0.0 ±0.0            -         -          -           -  90.0 ±1.0       never      never             -           -

second: High fails
            goodput %  High %  Important %  Medium %  Low %  sent/C  waste %  to shed s  recover s  false shed %  fairness
  good     75.0 ±12.5       -            -         -      -       -        -          -          -             -         -
  useless           -       -            -         -      -       -        -          -          -             -         -

How much of the worst healthy priority is admitted beside one that fails for its own reason
                   steady mean %  steady worst %  whole run mean %  whole run worst %
  second, good       99.99 ±0.01           80.00      100.00 ±0.00              25.00
  second, useless   50.00 ±25.00            0.00       50.00 ±0.00               0.00

Retries: attempts that are sent for each first attempt, and calls that succeed, in the whole disturbance
                   attempts/calls  succeed %  goodput %    High %  recover s
  first, useless       1.05 ±0.00          -   6.2 ±1.2  0.0 ±0.0      never
  second, useless               -          -          -         -          -

Bad luck: calls shed in the 30 s after a disturbance for each that failed in it; time until all are admitted; calls shed from its start on
                  shed/failed  to admit s  shed %
  first, good      3.99 ±0.50       never       -
  first, useless            -           -       -

Tenants: calls that succeed of those below their fair share; Jain's index of what each gets of its share; the least by weight
                   below %      fairness  least
  second, good           -  0.500 ±0.125      -
  second, useless        -             -      -

Mean ±standard deviation over 3 seeds. never: not reached in at least one seed. -: does not apply.
goodput: useful work of the backend in the disturbance, of the possible work. High to Low: calls that succeed in its second half.
sent/C: load that reaches the backend then, in multiples of its capacity. waste: its work that was not useful. to shed: until a tenth is shed.
recover: after the disturbance, until 99 % are admitted and 97 % succeed. false shed: shed without need. fairness: 1 if all clients succeed equally.
`

func table(t *testing.T, r report) string {
	t.Helper()
	var text strings.Builder
	if err := writeTable(&text, r); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

func TestTable(t *testing.T) {
	equals(t, table(t, handmade(1, 2, 3)), goldenTable, "the table")
	for _, want := range []string{
		"\n  good         100.0    98.7            -         -   50.0    1.25        -       0.25        8.1         0.000      0.90\n",
		"\nOne run each, with seed 7. never: not reached",
	} {
		if got := table(t, handmade(7)); !strings.Contains(got, want) {
			t.Errorf("one seed: got\n%s\nwant in it %q", got, want)
		}
	}
}

// TestTableOfSomeSeeds says how many seeds a row is of where Ctrl-C made them differ.
func TestTableOfSomeSeeds(t *testing.T) {
	r := handmade(1, 2, 3)
	r.results[0].Seeds = []uint64{1}
	got := table(t, r)
	for _, want := range []string{
		"fairness  seeds\n", "0.90      1\n", "over up to 3 seeds",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("got\n%s\nwant %q in it", got, want)
		}
	}
}

// fullDisk is a writer that cannot write.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space left") }
