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

const (
	examples        = "throttle/example_test.go"
	otelExamples    = "otelthrottle/example_test.go"
	statuszExamples = "throttle/statusz/example_test.go"
)

// pages are the texts for users, and wherever their code comes from.
func pages() []string { return []string{"README.md", "docs/where-to-put-throttles.md"} }

func moreExamples() []string {
	return []string{
		"throttle/httpthrottle/recipes_test.go", "throttle/httpthrottle/example_test.go", "throttle/grpcthrottle/recipes_test.go",
		"internal/integration/telemetry/otelhttp_test.go", "internal/integration/stores/recipes_test.go", "throttle/breaker/recipes_test.go",
	}
}

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

// exampleLines returns the lines of every example that the README may show.
func exampleLines(t *testing.T) []string {
	t.Helper()
	var lines []string
	for _, file := range append([]string{examples, otelExamples, statuszExamples}, moreExamples()...) {
		lines = append(lines, statements(readFile(t, file))...)
	}
	return lines
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

func TestThePagesCodeIsInTheExamples(t *testing.T) {
	code := exampleLines(t)
	for _, page := range pages() {
		for _, block := range fenced(readFile(t, page), "go") {
			if !occurs(block, code) {
				t.Errorf("%s has code that is in no example:\n%s", page, strings.Join(block, "\n"))
			}
		}
	}
}

func TestTheReadmesOutputIsTheExamples(t *testing.T) {
	var output []string
	for _, line := range exampleLines(t) {
		output = append(output, strings.TrimPrefix(line, "// "))
	}
	blocks := fenced(readFile(t, "README.md"), "text")
	if len(blocks) == 0 {
		t.Fatal("got no output in README.md")
	}
	for _, block := range blocks {
		if !occurs(block, output) {
			t.Errorf("README.md has output that no example has:\n%s", strings.Join(block, "\n"))
		}
	}
}

// exported returns what package throttle exports as others write it: throttle.New, Throttle.Do, Config.Name.
func exported(t *testing.T) map[string]bool {
	t.Helper()
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
			switch n := n.(type) {
			case *ast.BlockStmt:
				return false
			case *ast.FuncDecl:
				names[owner(n)+"."+n.Name.Name] = true
			case *ast.ValueSpec:
				for _, id := range n.Names {
					names["throttle."+id.Name] = true
				}
			case *ast.TypeSpec:
				names["throttle."+n.Name.Name] = true
				for _, field := range fields(n) {
					names[n.Name.Name+"."+field] = true
				}
			}
			return true
		})
	}
	return names
}

// owner is the type that a method belongs to, and the package for a function.
func owner(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return "throttle"
	}
	typ := f.Recv.List[0].Type
	if pointer, ok := typ.(*ast.StarExpr); ok {
		typ = pointer.X
	}
	name, _ := typ.(*ast.Ident)
	return name.String()
}

// fields are the names of a struct's fields.
func fields(spec *ast.TypeSpec) (names []string) {
	if structure, ok := spec.Type.(*ast.StructType); ok {
		for _, field := range structure.Fields.List {
			for _, id := range field.Names {
				names = append(names, id.Name)
			}
		}
	}
	return names
}

func TestTheReadmesNamesExist(t *testing.T) {
	names := exported(t)
	ours := regexp.MustCompile(`\b(?:throttle|Config|Throttle)\.[A-Z]\w*`)
	readme, bulwark, ok := strings.Cut(readFile(t, "README.md"), "\n| Bulwark | Spillway |")
	if !ok {
		t.Fatal("got no table of Bulwark's names in README.md")
	}
	for row := range strings.Lines(bulwark) {
		_, right, _ := strings.Cut(row, " | ") // the left column is theirs
		readme += right
	}
	found := ours.FindAllString(readme, -1)
	for _, name := range found {
		if !names[name] {
			t.Errorf("README.md: got %s, which package throttle does not have", name)
		}
	}
	if len(found) < 20 {
		t.Errorf("names found in README.md: got %d want more: does this test still read it?", len(found))
	}
}

func TestThePagesLinksLeadSomewhere(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#]+)\)`)
	for _, page := range append(pages(), "dashboards/README.md", "dashboards/runbooks.md") {
		for _, found := range link.FindAllStringSubmatch(readFile(t, page), -1) {
			if target := found[1]; !strings.Contains(target, "://") {
				if _, err := os.Stat(filepath.Join(filepath.Dir(page), target)); err != nil {
					t.Errorf("%s: got a link to %s want a file that exists", page, target)
				}
			}
		}
	}
}
