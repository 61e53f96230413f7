package throttle

import (
	"github.com/spillway-go/spillway/throttle/internal/enum"
	"github.com/spillway-go/spillway/throttle/internal/tuned"
)

// Source is where a setting comes from. If several sources set it, the highest one is in force.
type Source uint8

const (
	// SourceCode is the Config, or Tune.
	SourceCode Source = iota
	// SourceApply is Control.Apply of package control, such as for a provider of feature flags.
	SourceApply
	// SourceFile is the file of Control.Watch.
	SourceFile
	// SourceHTTP is the handler of Control.Handler.
	SourceHTTP

	// NumSources is the number of sources.
	NumSources = tuned.NumSources
)

// String returns "code", "apply", "file" or "http".
func (s Source) String() string { return enum.Name("source", s, "code apply file http") }

// MarshalText returns the word of the source, or an error if the source is not defined.
func (s Source) MarshalText() ([]byte, error) { return enum.Marshal(s, SourceCode, SourceHTTP) }

// UnmarshalText reads the word of a source. Any other text is an error, and does not change s.
func (s *Source) UnmarshalText(text []byte) error {
	return enum.Unmarshal(s, text, SourceCode, SourceHTTP)
}
