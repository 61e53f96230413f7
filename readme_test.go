package spillway_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const examples = "throttle/example_test.go"

func readFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// fenced returns the blocks of a language in a Markdown text, without imports, blank lines and indentation.
func fenced(markdown, language string) [][]string {
	var blocks [][]string
	for i, part := range strings.Split(markdown, "```") {
		if body, ok := strings.CutPrefix(part, language+"\n"); ok && i%2 == 1 {
			blocks = append(blocks, statements(body))
		}
	}
	return blocks
}

func statements(text string) []string {
	var lines []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
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

// body returns the lines of an example function.
func body(t *testing.T, name string) []string {
	t.Helper()
	text := readFile(t, examples)
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, examples, text, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, decl := range file.Decls {
		if f, ok := decl.(*ast.FuncDecl); ok && f.Name.Name == name {
			return statements(text[fset.Position(f.Body.Lbrace).Offset+1 : fset.Position(f.Body.Rbrace).Offset])
		}
	}
	t.Fatalf("got no func %s in %s", name, examples)
	return nil
}

func TestTheReadmesTenLinesAreAnExample(t *testing.T) {
	blocks := fenced(readFile(t, "README.md"), "go")
	if len(blocks) == 0 {
		t.Fatal("got no Go in README.md")
	}
	want := body(t, "Example")
	for i, line := range want {
		if strings.HasPrefix(line, "// Output:") {
			want = want[:i]
			break
		}
	}
	if got := blocks[0]; strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("the first Go in README.md: got\n%s\nwant the body of func Example\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if n := len(blocks[0]); n > 10 {
		t.Errorf("lines of code: got %d want at most 10", n)
	}
}

func TestTheReadmesCodeIsInTheExamples(t *testing.T) {
	code := statements(readFile(t, examples))
	for _, block := range fenced(readFile(t, "README.md"), "go") {
		if !occurs(block, code) {
			t.Errorf("README.md has code that is not in %s:\n%s", examples, strings.Join(block, "\n"))
		}
	}
}

func TestTheReadmesOutputIsTheExamples(t *testing.T) {
	var output []string
	for _, line := range statements(readFile(t, examples)) {
		output = append(output, strings.TrimPrefix(line, "// "))
	}
	blocks := fenced(readFile(t, "README.md"), "text")
	if len(blocks) == 0 {
		t.Fatal("got no output in README.md")
	}
	for _, block := range blocks {
		if !occurs(block, output) {
			t.Errorf("README.md has output that is not in %s:\n%s", examples, strings.Join(block, "\n"))
		}
	}
}

func TestTheReadmesNamesExist(t *testing.T) {
	names := map[string]bool{}
	files, err := filepath.Glob("throttle/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok && id.IsExported() {
				names[id.Name] = true
			}
			return true
		})
	}
	ours := regexp.MustCompile(`\b(?:throttle|Config|Throttle)\.([A-Z]\w*)`)
	for line := range strings.Lines(readFile(t, "README.md")) {
		if left, right, ok := strings.Cut(line, " | "); ok && strings.HasPrefix(left, "| `") {
			line = right // the left column is what it is called elsewhere
		}
		for _, found := range ours.FindAllStringSubmatch(line, -1) {
			if !names[found[1]] {
				t.Errorf("README.md: got %s, which package throttle does not have", found[0])
			}
		}
	}
}

func TestTheReadmesLinksLeadSomewhere(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#]+)\)`)
	for _, found := range link.FindAllStringSubmatch(readFile(t, "README.md"), -1) {
		if target := found[1]; !strings.Contains(target, "://") {
			if _, err := os.Stat(target); err != nil {
				t.Errorf("README.md: got a link to %s want a file that exists", target)
			}
		}
	}
}
