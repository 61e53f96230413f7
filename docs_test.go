package spillway_test

import (
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// walk returns the files of the repository that keep keeps, but for testdata and what begins with a dot.
func walk(t *testing.T, keep func(name string) bool) (names []string) {
	t.Helper()
	err := filepath.WalkDir(".", func(name string, entry fs.DirEntry, err error) error {
		switch hidden := strings.HasPrefix(entry.Name(), ".") && name != "."; {
		case err != nil:
			return err
		case entry.IsDir() && (hidden || entry.Name() == "testdata"):
			return filepath.SkipDir
		case !entry.IsDir() && !hidden && keep(filepath.ToSlash(name)):
			names = append(names, filepath.ToSlash(name))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// pages are all texts of the repository.
func pages(t *testing.T) []string {
	return walk(t, func(name string) bool { return path.Ext(name) == ".md" })
}

// exampleFiles are wherever the code on pages comes from: files that tests run.
func exampleFiles(t *testing.T) []string {
	return walk(t, func(name string) bool {
		switch path.Base(name) {
		case "example_test.go", "recipes_test.go", "guide_test.go":
			return true
		}
		return slices.Contains([]string{
			"internal/integration/telemetry/otelhttp_test.go", "internal/benchmarks/coming_from_test.go", "examples/quota/place.go",
		}, name)
	})
}

// A block is a fenced one of a page.
type block struct {
	page, language, text string
	line                 int // of the page, where it begins
}

func (b block) String() string {
	return fmt.Sprintf("%s:%d: %s\n%s", b.page, b.line, b.language, b.text)
}

// blocksOf returns the fenced blocks of a page.
func blocksOf(page, markdown string) (blocks []block) {
	var open *block
	for i, line := range strings.Split(markdown, "\n") {
		language, fence := strings.CutPrefix(strings.TrimSpace(line), "```")
		switch {
		case fence && open == nil:
			open = &block{page: page, language: language, line: i + 1}
		case fence:
			blocks, open = append(blocks, *open), nil
		case open != nil:
			open.text += line + "\n"
		}
	}
	if open != nil {
		open.language = "a block without an end"
		blocks = append(blocks, *open)
	}
	return blocks
}

// statements returns the lines of a text as they are compared: without imports, blank lines and space.
func statements(text string) (lines []string) {
	for line := range strings.Lines(text) {
		line = strings.Join(strings.Fields(line), " ")
		if line != "" && !strings.HasPrefix(line, "import ") {
			lines = append(lines, line)
		}
	}
	return lines
}

// occurs reports whether part stands in whole, line after line.
func occurs(part, whole []string) bool {
	return len(part) > 0 && strings.Contains("\n"+strings.Join(whole, "\n")+"\n", "\n"+strings.Join(part, "\n")+"\n")
}

// abridged reports whether the lines of part stand in whole in their order, with others between them.
func abridged(part, whole []string) bool {
	found := 0
	for _, line := range whole {
		if found < len(part) && line == part[found] {
			found++
		}
	}
	return found > 0 && found == len(part)
}

// A checker says what is wrong with a block; "" is nothing.
type checker func(block) string

// checkers has one for each language that a page may have.
func checkers(t *testing.T) map[string]checker {
	t.Helper()
	code, outputs := sources(t, exampleFiles(t))
	return map[string]checker{
		"go":     checkGo(code),
		"text":   checkText(outputs),
		"sh":     checkCommands,
		"yaml":   checkYAML(configurations(t)),
		"promql": checkPromQL(expressions(t)),
		"sql":    checkSQL(readFile(t, "throttle/sqlstore/schema.go") + readFile(t, "throttle/sqlstore/bucketschema.go")),
		"":       checkUntagged,
	}
}

// checkBlock says what is wrong with a block of any language.
func checkBlock(known map[string]checker, b block) string {
	check, ok := known[b.language]
	if !ok {
		return fmt.Sprintf("got a block of %q, want one of a language that this test can check", b.language)
	}
	return check(b)
}

func TestThePagesBlocks(t *testing.T) {
	known, checked := checkers(t), map[string]int{}
	for _, page := range pages(t) {
		for _, b := range blocksOf(page, readFile(t, page)) {
			checked[b.language]++
			if complaint := checkBlock(known, b); complaint != "" {
				t.Errorf("%s\n%v", complaint, b)
			}
		}
	}
	if checked["go"] < 20 || checked["sh"] < 10 {
		t.Errorf("blocks: got %v want more: does this test still read the pages?", checked)
	}
}
