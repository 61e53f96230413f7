package throttle

import (
	"fmt"
	"time"
)

// Duration is a [time.Duration] that is a text in JSON: "200ms".
type Duration time.Duration

// String returns the text of the duration.
func (d Duration) String() string { return time.Duration(d).String() }

// MarshalText returns the text of the duration.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads a duration such as "200ms". Any other text is an error and does not change d.
func (d *Duration) UnmarshalText(text []byte) error {
	value, err := time.ParseDuration(string(text))
	if err != nil {
		return fmt.Errorf("%.40q is not a duration: want one such as 200ms or 1h30m", text)
	}
	*d = Duration(value)
	return nil
}
