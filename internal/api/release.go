package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// next is the listing of what has changed since the last release.
const next = "next"

// A listing is what a release exports, a line for each thing.
type listing struct {
	version version
	lines   []string
}

// A version is that of a release: major, minor and patch.
type version [3]int

func (v version) String() string { return fmt.Sprintf("v%d.%d.%d", v[0], v[1], v[2]) }

// parseVersion reads a version as tags have it. What goes to and fro is the same text, so that no other spelling passes.
func parseVersion(text string) (version, bool) {
	var v version
	_, err := fmt.Sscanf(text, "v%d.%d.%d", &v[0], &v[1], &v[2])
	return v, err == nil && v.String() == text
}

// lastRelease returns the newest listing below root.
func lastRelease(root string) (listing, error) {
	names, err := filepath.Glob(filepath.Join(root, "api", "v*.txt"))
	if err != nil {
		return listing{}, err
	}
	var last listing
	found := false
	for _, name := range names {
		v, ok := parseVersion(strings.TrimSuffix(filepath.Base(name), ".txt"))
		if !ok {
			return listing{}, fmt.Errorf("%s: want the name of a version, such as v0.1.0.txt", name)
		}
		if !found || slices.Compare(v[:], last.version[:]) > 0 {
			found, last.version = true, v
		}
	}
	if !found {
		return listing{}, errors.New("api/ has no listing of a release: write it with -release")
	}
	last.lines, err = read(root, last.version.String())
	return last, err
}

func read(root, name string) ([]string, error) {
	text, err := os.ReadFile(filepath.Join(root, "api", name+".txt"))
	if err != nil {
		return nil, err
	}
	return strings.FieldsFunc(string(text), func(r rune) bool { return r == '\n' }), nil
}

// changes returns what is gone, with a minus, and what is new, with a plus, in the order of the things themselves.
func changes(before, after []string) []string {
	var all []string
	for _, line := range before {
		if !slices.Contains(after, line) {
			all = append(all, "- "+line)
		}
	}
	for _, line := range after {
		if !slices.Contains(before, line) {
			all = append(all, "+ "+line)
		}
	}
	slices.SortStableFunc(all, func(a, b string) int { return strings.Compare(a[2:], b[2:]) })
	return all
}

// announced returns an error if something released is gone or another, and the changelog has no heading for it.
func announced(told []string, changelog string) error {
	_, unreleased, _ := strings.Cut(changelog, "## [Unreleased]")
	unreleased, _, _ = strings.Cut(unreleased, "\n## ")
	for _, line := range told {
		if breaks(line, told) && !strings.Contains(unreleased, "\n### Breaking\n") {
			return fmt.Errorf("api/next.txt has %q: want a heading \"### Breaking\" under Unreleased in CHANGELOG.md", line)
		}
	}
	return nil
}

// breaks reports whether a change breaks users: what is gone, and one more method of an interface that others implement.
func breaks(line string, told []string) bool {
	change, isNew := strings.CutPrefix(line, "+ ")
	head, _, isMethod := strings.Cut(change, " interface, ")
	return !isNew || isMethod && !slices.Contains(told, "+ "+head+" interface")
}
