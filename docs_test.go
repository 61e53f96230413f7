package spillway_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spillway-go/spillway/throttle/control"
)

// A block is a fenced block of a page.
type block struct {
	page, language, text string
	line                 int // where the block begins
}

// A checker returns what is wrong with a block, or "".
type checker func(block) string

func TestBlocks(t *testing.T) {
	checkers, checked := newCheckers(t), map[string]int{}
	for _, page := range pages(t) {
		for _, b := range blocksOf(page, readFile(t, page)) {
			checked[b.language]++
			if complaint := checkBlock(checkers, b); complaint != "" {
				t.Errorf("%s:%d: %s\n%s", b.page, b.line, complaint, b.text)
			}
		}
	}
	if checked["go"] < 20 || checked["sh"] < 10 {
		t.Errorf("blocks: got %v want more: does this test still read the pages?", checked)
	}
}

// TestOperatingIsShort limits the pages that are read in an incident, or with something to do: each answers one question.
func TestOperatingIsShort(t *testing.T) {
	const maxWords = 900
	for _, name := range []string{"operating", "rolling-out", "watching", "changing-settings", "fleet-settings", "series-and-cost", "versions"} {
		if words := len(strings.Fields(readFile(t, "docs/"+name+".md"))); words > maxWords {
			t.Errorf("docs/%s.md: got %d words want %d at most", name, words, maxWords)
		}
	}
}

// TestBlocksFindsMistakes gives the checkers blocks with a mistake.
func TestBlocksFindsMistakes(t *testing.T) {
	checkers := newCheckers(t)
	for _, tt := range []struct {
		language, text string
		want           string // part of the complaint
	}{
		{"go", "th := throttle.Must(throttle.New(throttle.Config{Name: \"recommendation\"}))\n", "in no function of an example"},
		{"go", "import \"net/htp\"\n\nHandler: serve(e), // not e.Use\n", "an import of"},
		{"go", "Handler: serve(echo), // not e.Use\n", "in no function of an example"},
		{"text", "[apples plums] <nil>\n", "output of no example"},
		{"yaml", "providers:\n  - name: spillway\n", "in none of our files"},
		{"sh", "go run ./examples/simulator\n", "no folder examples/simulator"},
		{"sh", "cd internal/benchmark && go test ./...\n", "no folder internal/benchmark"},
		{"sh", "make test && make tests\n", "no make target tests"},
		{"sh", "(cd internal/integration && go test -bench 'BenchmarkRedisBuckets$' ./stores)\n", "no test BenchmarkRedisBuckets"},
		{"json", "{\"throttles\": {\"stock\": {\"mod\": \"off\"}}}\n", "unknown field"},
		{"rust", "fn main() {}\n", "no check for"},
	} {
		got := checkBlock(checkers, block{page: "docs/page.md", language: tt.language, text: tt.text})
		if !strings.Contains(got, tt.want) {
			t.Errorf("%s %q: got %q want %q", tt.language, tt.text, got, tt.want)
		}
	}
}

// TestReadmeTenLines compares the first code in README.md with the Example of throttle, which runs.
func TestReadmeTenLines(t *testing.T) {
	blocks := blocksOf("README.md", readFile(t, "README.md"))
	first := slices.IndexFunc(blocks, func(b block) bool { return b.language == "go" })
	lines := statements(blocks[first].text)
	code, _, _ := functions(t, []string{"throttle/example_test.go"})
	example := code[slices.IndexFunc(code, func(f []string) bool { return f[0] == "func Example() {" })]
	if len(lines) > 10 || !occurs(lines, example) || len(lines) != slices.Index(example, "// Output:")-1 {
		t.Errorf("got\n%s\nwant the body of func Example, at most 10 lines:\n%s", strings.Join(lines, "\n"), strings.Join(example, "\n"))
	}
}

// exampleFiles returns the files whose code the pages show.
func exampleFiles(t *testing.T) []string {
	return walk(t, func(name string) bool {
		return slices.Contains([]string{"example_test.go", "recipes_test.go", "guide_test.go"}, path.Base(name)) ||
			path.Dir(name) == "internal/recipes" && strings.HasSuffix(name, "_test.go") ||
			slices.Contains([]string{"internal/integration/interop/otelhttp_test.go", "examples/quota/store.go"}, name)
	})
}

// newCheckers returns a checker for each language.
func newCheckers(t *testing.T) map[string]checker {
	code, outputs, imports := functions(t, exampleFiles(t))
	var yaml [][]string
	for _, name := range walk(t, func(name string) bool { return path.Ext(name) == ".yml" || path.Ext(name) == ".yaml" }) {
		yaml = append(yaml, statements(withoutComments(readFile(t, name))))
	}
	anything := func(block) string { return "" }
	return map[string]checker{
		"go": func(b block) string {
			found := occurs
			if path.Base(b.page) == "runbooks.md" { // which may leave lines out
				found = abridged
			}
			for _, shown := range regexp.MustCompile(`(?m)^(?:import |\t)(?:\w+ )?("[^"]+")$`).FindAllStringSubmatch(b.text, -1) {
				if !imports[shown[1]] {
					return "got an import of " + shown[1] + " that no example has"
				}
			}
			return unlessIn(code, found, statements(b.text), "got code that is in no function of an example")
		},
		"text": func(b block) string {
			return unlessIn(outputs, occurs, statements(b.text), "got text that is the output of no example")
		},
		"yaml": func(b block) string {
			return unlessIn(yaml, abridged, statements(withoutComments(b.text)), "got YAML that is in none of our files")
		},
		"sh": checkCommands,
		"json": func(b block) string {
			if _, err := control.ParseDocument([]byte(b.text)); err != nil {
				return err.Error()
			}
			return ""
		},
		"promql": anything, "sql": anything, "": anything,
	}
}

func checkBlock(checkers map[string]checker, b block) string {
	check, ok := checkers[b.language]
	if !ok {
		return fmt.Sprintf("there is no check for a block of %q", b.language)
	}
	return check(b)
}

// unlessIn returns the complaint unless one of the texts holds the lines.
func unlessIn(texts [][]string, holds func(part, whole []string) bool, lines []string, complaint string) string {
	if slices.ContainsFunc(texts, func(text []string) bool { return holds(lines, text) }) {
		return ""
	}
	return complaint
}

// occurs reports whether the lines of part are next to each other in whole.
func occurs(part, whole []string) bool {
	return len(part) > 0 && strings.Contains("\n"+strings.Join(whole, "\n")+"\n", "\n"+strings.Join(part, "\n")+"\n")
}

// abridged reports whether the lines of part are in whole in the same order, perhaps with others between them.
func abridged(part, whole []string) bool {
	found := 0
	for _, line := range whole {
		if found < len(part) && line == part[found] {
			found++
		}
	}
	return found > 0 && found == len(part)
}

// statements returns the lines of a text without imports, blank lines and indentation.
func statements(text string) (lines []string) {
	text = regexp.MustCompile(`(?m)^import \((?s:.*?)^\)`).ReplaceAllString(text, "")
	for line := range strings.Lines(text) {
		line = strings.Join(strings.Fields(line), " ")
		if line != "" && !strings.HasPrefix(line, "import ") {
			lines = append(lines, line)
		}
	}
	return lines
}

func withoutComments(yaml string) string {
	return regexp.MustCompile(`(?m)(^|\s)#.*$`).ReplaceAllString(yaml, "")
}

// checkCommands returns a complaint if a folder, make target or test that a command names does not exist.
func checkCommands(b block) string {
	for line := range strings.Lines(b.text) {
		line, _, _ = strings.Cut(" "+line, " #")
		dir := "."
		for command := range strings.SplitSeq(strings.Trim(line, " ()\n"), "&&") {
			words := strings.Fields(command)
			if len(words) < 2 {
				continue
			}
			if complaint := checkCommand(dir, words); complaint != "" {
				return complaint
			}
			if words[0] == "cd" && words[1] != path.Base(module) { // which follows a git clone
				dir = path.Join(dir, words[1])
			}
		}
	}
	return ""
}

func checkCommand(dir string, words []string) string {
	makefile, _ := os.ReadFile("Makefile")
	for _, word := range words[1:] {
		folder := path.Join(dir, strings.TrimSuffix(word, "..."))
		isFolder := words[0] == "cd" && word != path.Base(module) || words[0] == "go" && strings.HasPrefix(word, "./")
		if info, err := os.Stat(folder); isFolder && (err != nil || !info.IsDir()) {
			return "got no folder " + folder
		}
		if words[0] == "make" && !strings.Contains(word, "=") && !regexp.MustCompile(`(?m)^`+regexp.QuoteMeta(word)+`:`).Match(makefile) {
			return "got no make target " + word
		}
		for _, name := range regexp.MustCompile(`\b(?:Test|Benchmark|Fuzz)[A-Z]\w*`).FindAllString(word, -1) {
			if words[0] == "go" && !declaredIn(path.Join(dir, words[len(words)-1]), name) {
				return "got no test " + name
			}
		}
	}
	return ""
}

// declaredIn reports whether a test file of the folder declares the function.
func declaredIn(folder, name string) bool {
	files, _ := filepath.Glob(path.Join(strings.TrimSuffix(folder, "..."), "*_test.go")) // the pattern is well-formed
	return slices.ContainsFunc(files, func(file string) bool {
		text, _ := os.ReadFile(file)
		return strings.Contains(string(text), "func "+name+"(")
	})
}

// functions returns the lines of each function of the files, the output of each example, and what the files import.
func functions(t *testing.T, files []string) (code, outputs [][]string, imports map[string]bool) {
	t.Helper()
	imports = map[string]bool{}
	for _, name := range files {
		text := readFile(t, name)
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, name, text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, spec := range file.Imports {
			imports[spec.Path.Value] = true
		}
		for _, decl := range file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok {
				continue
			}
			whole := text[fset.Position(f.Pos()).Offset:fset.Position(f.End()).Offset]
			code = append(code, statements(whole))
			if _, output, ok := strings.Cut(whole, "// Output:\n"); ok {
				outputs = append(outputs, statements(strings.ReplaceAll(output, "// ", "")))
			}
		}
	}
	return code, outputs, imports
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

// pages returns the paths of all Markdown files.
func pages(t *testing.T) []string {
	return walk(t, func(name string) bool { return path.Ext(name) == ".md" })
}

// walk returns the files of the repository that keep accepts.
func walk(t *testing.T, keep func(name string) bool) (names []string) {
	t.Helper()
	for _, name := range filesOf(t, os.DirFS(".")) {
		if keep(name) {
			names = append(names, name)
		}
	}
	return names
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
