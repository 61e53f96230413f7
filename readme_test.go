package spillway_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
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
	blocks := blocksOf("README.md", readFile(t, "README.md"))
	first := slices.IndexFunc(blocks, func(b block) bool { return b.language == "go" })
	if first < 0 {
		t.Fatal("got no Go in README.md")
	}
	want := body(t, "Example")
	for i, line := range want {
		if strings.HasPrefix(line, "// Output:") {
			want = want[:i]
			break
		}
	}
	got := statements(blocks[first].text)
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("the first Go in README.md: got\n%s\nwant the body of func Example\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if n := len(got); n > 10 {
		t.Errorf("lines of code: got %d want at most 10", n)
	}
}
