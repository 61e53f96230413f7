// Command api lists what Spillway exports, so that a change of it is seen where it is made. The folder api/ of the repository holds a
// listing per release; api/next.txt holds what has changed since the last one, a line with a plus or a minus for each thing. A test
// compares both with the source. Run it in the root of the repository:
//
//	go run ./internal/api                      # brings api/next.txt up to date
//	go run ./internal/api -release v0.1.0      # writes the listing of a release, after which nothing has changed
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	release := flag.String("release", "", "write the listing of this release, such as v0.1.0")
	flag.Parse()
	if err := run(".", *release); err != nil {
		fmt.Fprintln(os.Stderr, "api:", err)
		os.Exit(1)
	}
}

// run writes the listing of a release, or what has changed since the last one.
func run(root, release string) error {
	lines, err := list(root)
	if err != nil {
		return err
	}
	if release == "" {
		released, err := lastRelease(root)
		if err != nil {
			return err
		}
		return write(root, next, changes(released.lines, lines))
	}
	if _, ok := parseVersion(release); !ok {
		return fmt.Errorf("-release is %.40q: want a version such as v0.1.0", release)
	}
	if err := write(root, release, lines); err != nil {
		return err
	}
	return write(root, next, nil)
}

func write(root, name string, lines []string) error {
	text := strings.Join(lines, "\n")
	if text != "" {
		text += "\n"
	}
	return os.WriteFile(filepath.Join(root, "api", name+".txt"), []byte(text), 0o644)
}
