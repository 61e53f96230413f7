package program

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"
)

// Parse sets the flags from the arguments. Arguments that do not belong to a flag are an error.
func Parse(flags *flag.FlagSet, args []string) error {
	flags.SetOutput(io.Discard) // Explain prints the error, without the usage
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("%q is not a flag: flags begin with a hyphen", flags.Arg(0))
	}
	return nil
}

// Whole returns the function of a flag that sets a whole number from low to high.
func Whole(to *int, low, high int, unit string) func(text string) error {
	return func(text string) error {
		n, err := strconv.Atoi(text)
		if err != nil || n < low || n > high {
			return fmt.Errorf("want %d to %d %s", low, high, unit)
		}
		*to = n
		return nil
	}
}

// Number returns the function of a flag that sets a number from low to high.
func Number(to *float64, low, high float64, unit string) func(text string) error {
	return func(text string) error {
		x, err := strconv.ParseFloat(text, 64)
		if err != nil || !(x >= low && x <= high) {
			return fmt.Errorf("want %v to %v %s", low, high, unit)
		}
		*to = x
		return nil
	}
}

// Duration returns the function of a flag that sets how long the program runs.
func Duration(to *time.Duration) func(text string) error { return durationUpTo(to, 24*time.Hour) }

// Days is Duration for a program that may run for a week.
func Days(to *time.Duration) func(text string) error { return durationUpTo(to, 168*time.Hour) }

func durationUpTo(to *time.Duration, longest time.Duration) func(text string) error {
	return func(text string) error {
		d, err := time.ParseDuration(text)
		if err != nil || d != 0 && (d < time.Second || d > longest) {
			return fmt.Errorf("want 0 or a duration such as 30s, from 1s to %v", longest)
		}
		*to = d
		return nil
	}
}

// Address returns the function of a flag that sets an address.
func Address(to *string, example string) func(text string) error {
	return func(text string) error {
		_, port, err := net.SplitHostPort(text)
		if err != nil {
			return fmt.Errorf("want host:port, such as %s", example)
		}
		if _, err := strconv.ParseUint(port, 10, 16); err != nil {
			return errors.New("want a port from 0 to 65535")
		}
		*to = text
		return nil
	}
}
