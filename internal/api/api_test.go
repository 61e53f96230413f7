package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const repository = "../.."

// TestTheListingIsOfThisSource fails where something exported was added, changed or removed, and api/next.txt does not say so.
func TestTheListingIsOfThisSource(t *testing.T) {
	lines, err := list(repository)
	if err != nil {
		t.Fatal(err)
	}
	if len(lines) < 500 {
		t.Fatalf("got %d exported things: does this test still read the source?", len(lines))
	}
	released, err := lastRelease(repository)
	if err != nil {
		t.Fatal(err)
	}
	told, err := read(repository, next)
	if err != nil {
		t.Fatal(err)
	}
	changed := changes(released.lines, lines)
	for _, line := range changes(told, changed) {
		t.Errorf("api/next.txt: %s", line)
	}
	if t.Failed() {
		t.Errorf("the API is not what api/%v.txt and api/next.txt say: look at the lines above, then run make api", released.version)
	}
}

// TestWhatBreaksUsersIsInTheChangelog asks for a word to users where something that was released is gone or another.
func TestWhatBreaksUsersIsInTheChangelog(t *testing.T) {
	told, err := read(repository, next)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(repository, "CHANGELOG.md"))
	if err != nil {
		t.Fatal(err)
	}
	if err := announced(told, string(text)); err != nil {
		t.Error(err)
	}
}

func TestBreakingChangesAreAnnounced(t *testing.T) {
	const quiet = "## [Unreleased]\n\n### Added\n\n## [0.1.0]\n\n### Breaking\n"
	const told = "## [Unreleased]\n\n### Breaking\n\n## [0.1.0]\n"
	for _, c := range []struct {
		name, changelog string
		lines           []string
		ok              bool
	}{
		{"nothing changed", quiet, nil, true},
		{"something new", quiet, []string{"+ throttle: func New() *Throttle"}, true},
		{"something gone, untold", quiet, []string{"- throttle: func New() *Throttle"}, false},
		{"a method more", quiet, []string{"+ bucket: type Store interface, Reset() error"}, false},
		{"a new interface", quiet, []string{"+ bucket: type Store interface", "+ bucket: type Store interface, Reset() error"}, true},
		{"something gone, told", told, []string{"- throttle: func New() *Throttle"}, true},
	} {
		if err := announced(c.lines, c.changelog); (err == nil) != c.ok {
			t.Errorf("%s: got %v want ok %v", c.name, err, c.ok)
		}
	}
}

func TestDeclarations(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"dam/dam.go": `package dam
import "context"
const ( High Level = iota; Low; hidden; Wide, Narrow = iota, "n" )
const Word = "w"
const Version = "1"
var ErrFull, errFuller error = nil, nil
type Level uint8
func (l Level) String() (word string) { return "" }
type gate struct{ Width int }
func (g *gate) Open() {}
type Dam struct { *gate; Name, Place string; Open func(ctx context.Context, by int) (ok bool); secret int }
type Pair[K comparable, V any] struct{ Key K }
func (p *Pair[K, V]) Flip() (K, V) { panic("") }
type Sluice interface { Gate; Raise(by int) error; seal() }
type Gate = func(int)
type Times func(first, second int, more ...string)
func Map[T any](in []T, f func(T) func()) func() { return nil }
func private() {}
`,
		"dam/dam_test.go":      "package dam\nfunc Tested() {}\n",
		"dam/tool/tool.go":     "package main\nfunc Exported() {}\nfunc main() {}\n",
		"dam/handmade.go":      "//go:build ignore\n\npackage dam\n\nfunc Handmade() {}\n",
		"internal/in/in.go":    "package in\nfunc Inside() {}\n",
		"examples/shop/sub.go": "package shop\nfunc Sell() {}\n",
	} {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := list(root)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`const High Level = iota (iota 0)`, `const Low Level = iota (iota 1)`, `const Wide = iota (iota 3)`, `const Narrow = "n"`,
		`const Word = "w"`, `const Version`, `var ErrFull error`, `type Level uint8`, `method (Level) String() string`,
		`type Dam struct`, `type Dam struct, embedded *gate`, `type Dam struct, promoted Open()`, `type Dam struct, Name string`, `type Dam struct, Place string`,
		`type Dam struct, Open func(context.Context, int) bool`,
		`type Pair[K comparable, V any] struct`, `type Pair[K comparable, V any] struct, Key K`, `method (*Pair[K, V]) Flip() (K, V)`,
		`type Sluice interface`, `type Sluice interface, embedded Gate`, `type Sluice interface, Raise(int) error`,
		`type Sluice interface, unexported methods`, `type Gate = func(int)`, `type Times func(int, int, ...string)`,
		`func Map[T any]([]T, func(T) func()) func()`,
	}
	for i := range want {
		want[i] = "dam: " + want[i]
	}
	slices.Sort(want)
	for _, line := range changes(want, got) {
		t.Error(line)
	}
}

func TestChanges(t *testing.T) {
	got := changes([]string{"a: func A()", "b: func B()"}, []string{"a: func A(int)", "b: func B()", "c: func C()"})
	want := []string{"- a: func A()", "+ a: func A(int)", "+ c: func C()"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q want %q", got, want)
	}
}

func TestReleases(t *testing.T) {
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "api"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := lastRelease(root); err == nil || !strings.Contains(err.Error(), "no listing") {
		t.Errorf("without a listing: got %v", err)
	}
	for _, name := range []string{"v0.9.0", "v0.10.0", "v0.2.11"} {
		if err := write(root, name, []string{"a: func " + name}); err != nil {
			t.Fatal(err)
		}
	}
	got, err := lastRelease(root)
	if want := []string{"a: func v0.10.0"}; err != nil || !slices.Equal(got.lines, want) {
		t.Errorf("got %q %v want %q", got.lines, err, want)
	}
	for _, bad := range []string{"", "0.1.0", "v1", "v01.2.3", "v1.2.3-rc", "../v1.2.3"} {
		if err := run(root, bad); bad != "" && err == nil {
			t.Errorf("release %q: got no error", bad)
		}
	}
}
