// Package spillway_test checks the rules of the repository that no linter has: the imports of each folder,
// what the library must never do, the names of test files, and that documentation and code agree.
//
// The rules parse the files. A test that asks the go command is served from the test cache and misses a
// new violation.
package spillway_test

import (
	"fmt"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

const (
	module     = "github.com/spillway-go/spillway"
	faultsPath = "github.com/deixis/faults"
	otelPath   = "go.opentelemetry.io"
)

// A source is one parsed Go file.
type source struct {
	path   string // slash-separated, from the root of the repository
	module string // folder of the nearest go.mod, "." for the root
	fset   *token.FileSet
	file   *ast.File
}

// A rule returns what is wrong with the Go files of one folder.
type rule func(folder []source) []string

func rules() map[string]rule {
	return map[string]rule{
		"imports":          eachFile(checkImports),
		"no init":          eachFile(checkNoInit),
		"no package state": eachFile(checkNoState),
		"examples":         checkExamples,
		"test files":       checkTestFiles,
	}
}

func TestHouse(t *testing.T) {
	folders := parseTree(t, os.DirFS("."))
	if len(folders["throttle"]) < 10 {
		t.Fatal("got no files of the package throttle: the test must run at the root of the repository")
	}
	for name, check := range rules() {
		t.Run(name, func(t *testing.T) {
			for _, folder := range folders {
				for _, complaint := range check(folder) {
					t.Error(complaint)
				}
			}
		})
	}
}

// TestHouseFindsViolations gives each rule files that break it. Those that keep it are the repository's own.
func TestHouseFindsViolations(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	imports := func(p string) *fstest.MapFile { return file("package a\n\nimport _ \"" + p + "\"\n") }
	folders := parseTree(t, fstest.MapFS{
		"go.mod":                        file("module " + module + "\n"),
		"throttle/a.go":                 imports(otelPath + "/otel"),
		"throttle/b.go":                 imports(module + "/throttle/bucket"),
		"throttle/c.go":                 imports(module + "/internal/byname"),
		"throttle/bucket/a.go":          imports("github.com/redis/go-redis/v9"),
		"throttle/bucket/b.go":          imports(module + "/otelthrottle"),
		"throttle/redisstore/go.mod":    file("module " + module + "/throttle/redisstore\n"),
		"throttle/redisstore/a.go":      imports(otelPath + "/otel"),
		"throttle/redisstore/b.go":      imports(module + "/throttle/internal/check"),
		"throttle/redisstore/b_test.go": imports(module + "/internal/byname"),
		"internal/byname/a.go":          imports(module + "/throttle"),
		"otelthrottle/a.go":             imports(otelPath + "/otel/sdk/metric"),

		"throttle/init/a.go": file("package a\n\nfunc init() {}\n"),

		"throttle/state/a.go": file("package a\n\nvar seen = map[string]int{}\n"),
		"throttle/state/b.go": file("package a\n\nvar ErrA, n = errors.New(\"a\"), 1\n"),
		"throttle/state/c.go": file("package a\n\nvar ErrB = &b{}\n"),

		"otelthrottle/a_test.go":                        file("package a\n\nfunc Example() {\n\t// no output\n}\n"),
		"throttle/tests/wait.go":                        file("package tests\n"),
		"throttle/tests/other_test.go":                  file("package tests\n"),
		"throttle/tests/testdata/broken/not-even-go.go": file("this is not Go"),
	})
	want := map[string]int{"imports": 10, "no init": 1, "no package state": 3, "test files": 1}
	for name, check := range rules() {
		var got []string
		for _, dir := range slices.Sorted(maps.Keys(folders)) {
			got = append(got, check(folders[dir])...)
		}
		if name == "examples" {
			if !slices.Contains(got, "otelthrottle: no Example with an // Output: comment") {
				t.Errorf("examples: got %q", got)
			}
		} else if len(got) != want[name] {
			t.Errorf("%s: got %d complaints, want %d: %q", name, len(got), want[name], got)
		}
	}
}

// filesOf returns the files of a tree. It leaves out testdata and what is below names that begin with a dot.
func filesOf(t *testing.T, tree fs.FS) (names []string) {
	t.Helper()
	err := fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		switch hidden := strings.HasPrefix(entry.Name(), ".") && name != "."; {
		case err != nil:
			return err
		case entry.IsDir() && (hidden || entry.Name() == "testdata"):
			return fs.SkipDir
		case !entry.IsDir() && !hidden:
			names = append(names, name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// parseTree returns the Go files of a tree by folder.
func parseTree(t *testing.T, tree fs.FS) map[string][]source {
	t.Helper()
	folders, fset := map[string][]source{}, token.NewFileSet()
	for _, name := range filesOf(t, tree) {
		if path.Ext(name) != ".go" {
			continue
		}
		text, err := fs.ReadFile(tree, name)
		if err != nil {
			t.Fatal(err)
		}
		file, err := parser.ParseFile(fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		folders[path.Dir(name)] = append(folders[path.Dir(name)], source{name, moduleOf(tree, name), fset, file})
	}
	return folders
}

// moduleOf returns the folder of the go.mod that the file belongs to.
func moduleOf(tree fs.FS, name string) string {
	dir := path.Dir(name)
	for dir != "." {
		if _, err := fs.Stat(tree, dir+"/go.mod"); err == nil {
			break
		}
		dir = path.Dir(dir)
	}
	return dir
}

func eachFile(check func(source) []string) rule {
	return func(folder []source) (found []string) {
		for _, s := range folder {
			found = append(found, check(s)...)
		}
		return found
	}
}

func (s source) isTest() bool { return strings.HasSuffix(s.path, "_test.go") }

// isLibrary reports whether users compile the file into their programs.
func (s source) isLibrary() bool {
	inside := under(s.path, "throttle") || under(s.path, "otelthrottle") || under(s.path, "internal/byname")
	return inside && !s.isTest() && s.file.Name.Name != "main" && !ast.IsGenerated(s.file)
}

// at formats a complaint with the position of the node in front.
func (s source) at(node ast.Node, format string, args ...any) string {
	return fmt.Sprintf("%s:%d: %s", s.path, s.fset.Position(node.Pos()).Line, fmt.Sprintf(format, args...))
}

// checkImports keeps OpenTelemetry out of throttle, its SDK out of otelthrottle, and third parties out of both.
func checkImports(s source) (found []string) {
	for _, spec := range s.file.Imports {
		imported := strings.Trim(spec.Path.Value, "`\"")
		if s.isLibrary() && !mayImport(s, imported) || isForeignInternal(s, imported) {
			found = append(found, s.at(spec, "must not import %s", imported))
		}
	}
	return found
}

func mayImport(s source, imported string) bool {
	first, _, _ := strings.Cut(imported, "/")
	std := !strings.Contains(first, ".")
	switch dir := path.Dir(s.path); {
	case std || under(imported, faultsPath):
		return true
	case under(dir, "otelthrottle"):
		sdk := under(imported, otelPath+"/otel/sdk") || under(imported, otelPath+"/otel/exporters")
		return under(imported, module) || under(imported, otelPath+"/otel") && !sdk
	case s.module != ".": // a nested module exists for its third party
		return !under(imported, otelPath) && !under(imported, module+"/otelthrottle")
	case dir == "throttle" || under(dir, "throttle/internal") && dir != "throttle/internal/dependency":
		return under(imported, module+"/throttle/internal")
	case dir == "internal/byname":
		return false // nothing but the standard library
	default:
		return under(imported, module+"/throttle") || under(imported, module+"/internal/byname")
	}
}

// isForeignInternal reports whether a nested module of users, or a test of it, imports an internal package of
// another module of ours. A user may update one of the two alone, so what they share must be public.
func isForeignInternal(s source, imported string) bool {
	nested := s.module != "." && under(s.path, "throttle")
	return nested && under(imported, module) && !under(imported, module+"/"+s.module) && slices.Contains(strings.Split(imported, "/"), "internal")
}

// under reports whether name is the folder or package path dir, or is below it.
func under(name, dir string) bool { return name == dir || strings.HasPrefix(name, dir+"/") }

// checkNoInit refuses func init in the library.
func checkNoInit(s source) (found []string) {
	for _, decl := range s.file.Decls {
		if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" && s.isLibrary() {
			found = append(found, s.at(fn, "func init: let the caller call a constructor"))
		}
	}
	return found
}

// checkNoState refuses package variables in the library, except error values, interface assertions, embedded files and defaultHooks,
// the atomic holder behind SetDefaultHooks.
func checkNoState(s source) (found []string) {
	for _, decl := range s.file.Decls {
		group, ok := decl.(*ast.GenDecl)
		if !ok || group.Tok != token.VAR || !s.isLibrary() {
			continue
		}
		for _, spec := range group.Specs {
			vars := spec.(*ast.ValueSpec)
			for i, name := range vars.Names {
				isError := i < len(vars.Values) && isErrorValue(vars.Type, vars.Values[i])
				if name.Name != "_" && !slices.Contains([]string{"defaultHooks", "sharedProcess"}, name.Name) && !isError && !isEmbed(group.Doc) && !isEmbed(vars.Doc) {
					found = append(found, s.at(name, "package variable %s: use a const, a func or a field", name.Name))
				}
			}
		}
	}
	return found
}

// isErrorValue accepts errors.New(...) and fmt.Errorf(...), and a literal in a variable declared as error.
func isErrorValue(typ, value ast.Expr) bool {
	if call, ok := value.(*ast.CallExpr); ok {
		sel, ok := call.Fun.(*ast.SelectorExpr)
		if !ok {
			return false
		}
		pkg, _ := sel.X.(*ast.Ident)
		return pkg != nil && (pkg.Name == "errors" && sel.Sel.Name == "New" || pkg.Name == "fmt" && sel.Sel.Name == "Errorf")
	}
	if ref, ok := value.(*ast.UnaryExpr); ok && ref.Op == token.AND {
		value = ref.X
	}
	_, literal := value.(*ast.CompositeLit)
	declared, _ := typ.(*ast.Ident)
	return literal && declared != nil && declared.Name == "error"
}

func isEmbed(doc *ast.CommentGroup) bool {
	return doc != nil && slices.ContainsFunc(doc.List, func(c *ast.Comment) bool { return strings.HasPrefix(c.Text, "//go:embed ") })
}

// checkExamples reports packages that users can import and that have no Example with an Output comment.
func checkExamples(folder []source) []string {
	var tests []*ast.File
	public := false
	for _, s := range folder {
		if s.isTest() {
			tests = append(tests, s.file)
		}
		public = public || s.isLibrary() && !strings.Contains("/"+s.path, "/internal/")
	}
	tested := slices.ContainsFunc(doc.Examples(tests...), func(e *doc.Example) bool { return e.Output != "" || e.EmptyOutput })
	if !public || tested {
		return nil
	}
	return []string{path.Dir(folder[0].path) + ": no Example with an // Output: comment"}
}

// checkTestFiles reports test files that are not named after what they test: a file of the folder or the
// package, with the aspect after an underscore. Some names, such as example_test.go, need no such file.
func checkTestFiles(folder []source) (found []string) {
	dir := path.Dir(folder[0].path)
	known := []string{"example", "recipes", "guide", "bench", "alloc", "fuzz", "support", "security", "main", "race", "norace", path.Base(dir)}
	for _, s := range folder {
		known = append(known, strings.TrimSuffix(s.file.Name.Name, "_test"))
		if name := strings.TrimSuffix(path.Base(s.path), ".go"); !s.isTest() {
			known = append(known, name)
		}
	}
	if under(dir, "internal/integration") || dir == "internal/recipes" || dir == "dashboards" || dir == "." {
		return nil // these test programs, frameworks, boards and documents, and a file is named after its subject
	}
	for _, s := range folder {
		name := strings.TrimSuffix(path.Base(s.path), "_test.go")
		unit := func(unit string) bool { return name == unit || strings.HasPrefix(name, unit+"_") }
		if s.isTest() && !slices.ContainsFunc(known, unit) {
			found = append(found, s.path+": name a test file after the file that it tests, as wait_test.go or wait_aspect_test.go")
		}
	}
	return found
}

// TestImageHasItsFolders checks that the image of the storefront is built from all that it needs: the Dockerfile
// copies the go.mod of each replaced module, and .dockerignore leaves in each folder that is imported.
func TestImageHasItsFolders(t *testing.T) {
	dockerfile, ignored := readFile(t, "examples/storefront/Dockerfile"), readFile(t, ".dockerignore")
	for line := range strings.Lines(readFile(t, "examples/go.mod")) {
		_, folder, replaced := strings.Cut(strings.TrimSpace(line), " => ../")
		if file := path.Join(folder, "go.mod"); replaced && !strings.Contains(dockerfile, "COPY "+file+" ") {
			t.Errorf("Dockerfile: got no COPY of %s", file)
		}
	}
	folders := parseTree(t, os.DirFS("."))
	needed := []string{"examples/storefront"}
	for i := 0; i < len(needed); i++ {
		in := func(dir string) bool { return strings.Contains(ignored, "\n!"+dir+"\n") }
		dir := needed[i]
		for !in(dir) && dir != "." {
			dir = path.Dir(dir)
		}
		if dir == "." {
			t.Errorf(".dockerignore: leaves out %s", needed[i])
		}
		for _, s := range folders[needed[i]] {
			for _, spec := range s.file.Imports {
				imported, own := strings.CutPrefix(strings.Trim(spec.Path.Value, `"`), module+"/")
				if own && !s.isTest() && !slices.Contains(needed, imported) {
					needed = append(needed, imported)
				}
			}
		}
	}
	if len(needed) < 20 {
		t.Errorf("got %d folders: %v", len(needed), needed)
	}
}
