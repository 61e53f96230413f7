package faults_test

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/deixis/faults"
)

func Example() {
	err := fmt.Errorf("load basket: %w", faults.WithUnavailable(io.ErrUnexpectedEOF, 3*time.Second))

	fmt.Println(err)
	if f, ok := faults.AsUnavailable(err); ok {
		fmt.Println("wait", f.RetryInfo.RetryDelay)
	}
	fmt.Println(errors.Is(err, io.ErrUnexpectedEOF), faults.IsNotFound(err))
	// Output:
	// load basket: service temporarily unavailable, retry in 3s
	// wait 3s
	// true false
}

func ExampleBad() {
	err := faults.Bad(
		&faults.FieldViolation{Field: "email", Description: "no @"},
		&faults.FieldViolation{Field: "age", Description: "negative"},
	)

	fmt.Println(err)
	// Output:
	// no @. negative
}
