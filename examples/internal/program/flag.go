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

// Parse lets flags take what the arguments say, or returns what is wrong with them. Nothing may be left over.
func Parse(flags *flag.FlagSet, args []string) error {
	flags.SetOutput(io.Discard) // Explain tells an error, without the whole usage after it
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("%q is not a flag: flags begin with a hyphen", flags.Arg(0))
	}
	return nil
}

// Whole returns the function of a flag that keeps a whole number from a range.
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

// Duration returns the function of a flag that keeps a duration from a range.
func Duration(to *time.Duration, low, high time.Duration, example string) func(text string) error {
	return func(text string) error {
		d, err := time.ParseDuration(text)
		if err != nil || d < low || d > high {
			return fmt.Errorf("want a duration such as %s, from %v to %v", example, low, high)
		}
		*to = d
		return nil
	}
}

// Address returns the function of a flag that keeps an address.
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

// Seed returns the function of a flag that keeps the seed of dice.
func Seed(to *uint64) func(text string) error {
	return func(text string) error {
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			return errors.New("want a whole number from 0 to 2^64-1")
		}
		*to = n
		return nil
	}
}
