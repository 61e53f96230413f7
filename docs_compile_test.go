package spillway_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
)

// TestBlocksCompile type-checks the Go of each page as a reader would paste it: the blocks of a section (##) from top to
// bottom, each in a scope inside the one before, after what the hidden comments of the page declare.
func TestBlocksCompile(t *testing.T) {
	isPeers := func(name string) bool { // has code of the libraries that internal/benchmarks requires
		return strings.HasPrefix(name, "docs/coming-from") ||
			slices.Contains([]string{"internal/benchmarks/guide_test.go", "internal/recipes/guide_test.go"}, name)
	}
	all := 0
	for _, c := range []*compiler{
		newCompiler(t, "internal/benchmarks", "off", isPeers),
		newCompiler(t, ".", "auto", func(name string) bool { return !isPeers(name) }),
	} {
		for _, page := range c.pages {
			complaints, blocks := c.check(page, readFile(t, page))
			all += blocks
			for _, complaint := range complaints {
				t.Error(complaint)
			}
		}
	}
	if all < 60 {
		t.Errorf("blocks compiled: got %d want more: does this test still read the pages?", all)
	}
}

func TestBlocksCompileFindsMistakes(t *testing.T) {
	c := newCompiler(t, ".", "auto", func(string) bool { return true })
	for _, tt := range []struct {
		text string
		want string // part of the complaint; empty for a good page
	}{
		{"th, err := throttle.New(throttle.Config{Name: \"a\"})\nif err != nil {\n\treturn nil, err\n}\n```\n\n```go\nth.Close()\n", ""},
		{"th, err := throttle.New(throttle.Config{Nam: \"a\"})\n", "page.md:2: unknown field Nam"},
		{"defer th.Close()\n", "page.md:2: undefined: th"},
		{"th.Close()\n```\n<!-- go\nvar th *throttle.Throttle\n-->\n", ""},
		{"err := f()\nerr := f()\n```\n<!-- go\nfunc f() error\n-->\n", "page.md:3: no new variables"},
		{"trace.Start(os.Stderr)\n", "undefined: trace: if this is a package, show its import"},
		{"import \"runtime/trace\"\n\ntrace.Start(os.Stderr)\n", ""},
		{"import \"fmt\"\n\nfmt.Println(throttle.High)\n", "undefined: throttle"},
		{"import \"example.com/none\"\n\nnone.F()\n", "page.md:2: could not import example.com/none"},
		{"func f() error {\n\treturn nil, nil\n}\n", "too many return values"},
		{"slog.Info(\"a\"),\nslog.Level(1),\n", "used as value"},
		{"th := throttle.Must(\n", "page.md:"},
	} {
		complaints, blocks := c.check("page.md", "```go\n"+tt.text+"```\n")
		got := strings.Join(complaints, "\n")
		if (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) || blocks == 0 {
			t.Errorf("%q: got %q want %q", tt.text, got, tt.want)
		}
	}
}

// A compiler type-checks pages against the packages that a module can import.
type compiler struct {
	pages    []string
	packages map[string]string   // the name of each package, by its path
	known    map[string][]string // the paths that examples import, by name; only ours, if one of them is ours
	load     types.Importer
}

// newCompiler returns a compiler for the pages that keep accepts. It builds, in the module of a folder, what they and
// the examples that keep accepts import.
func newCompiler(t *testing.T, folder, gowork string, keep func(name string) bool) *compiler {
	t.Helper()
	paths := map[string]bool{}
	for _, name := range exampleFiles(t) {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, spec := range file.Imports {
			if p := importPath(spec); keep(name) || inEachModule(p) {
				paths[p] = true
			}
		}
	}
	examples := slices.Collect(maps.Keys(paths))
	c := &compiler{packages: map[string]string{}, known: map[string][]string{}}
	c.pages = slices.DeleteFunc(pages(t), func(name string) bool { return !keep(name) })
	for _, page := range c.pages {
		for _, b := range goOf(page, readFile(t, page)) {
			for _, spec := range b.imports {
				paths[importPath(spec)] = true
			}
		}
	}
	c.list(t, folder, gowork, slices.Sorted(maps.Keys(paths)))
	for _, p := range examples {
		c.known[c.packages[p]] = append(c.known[c.packages[p]], p)
	}
	for name, known := range c.known {
		theirs := func(p string) bool { return !strings.HasPrefix(p, module+"/") }
		if ours := slices.DeleteFunc(slices.Clone(known), theirs); len(ours) == 1 {
			c.known[name] = ours
		}
	}
	return c
}

// inEachModule reports whether a package is of the standard library, or of the core.
func inEachModule(p string) bool {
	_, err := os.Stat(path.Join(strings.TrimPrefix(p, module+"/"), "go.mod")) // of a module of its own
	return isStandard(p) || strings.HasPrefix(p, module+"/throttle") && err != nil
}

func isStandard(p string) bool { return !strings.Contains(p, ".") }

// list fills c.packages and c.load from what the go command builds.
func (c *compiler) list(t *testing.T, folder, gowork string, paths []string) {
	t.Helper()
	args := append([]string{"list", "-e", "-export", "-deps", "-f", "{{.ImportPath}} {{.Name}} {{.Export}}"}, paths...)
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir, cmd.Env = folder, append(os.Environ(), "GOWORK="+gowork)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list in %s: %v\n%s", folder, err, stderr.String())
	}
	exports := map[string]string{}
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		if len(fields) == 3 {
			c.packages[fields[0]], exports[fields[0]] = fields[1], fields[2]
		}
	}
	c.load = importer.ForCompiler(token.NewFileSet(), "gc", func(p string) (io.ReadCloser, error) {
		if exports[p] == "" {
			return nil, fmt.Errorf("the module in %s does not import it", folder)
		}
		return os.Open(exports[p])
	})
}

// check returns what is wrong with the Go of a page, and the number of its blocks.
func (c *compiler) check(page, markdown string) (complaints []string, blocks int) {
	complain := func(err error) {
		text := err.Error()
		if strings.Contains(text, "and not used") { // a reader uses it
			return
		}
		if _, name, ok := strings.Cut(text, "undefined: "); ok && len(c.known[name]) > 1 {
			text += ": if this is a package, show its import: several have this name"
		}
		complaints = append(complaints, text)
	}
	all, fset, files := goOf(page, markdown), token.NewFileSet(), []*ast.File{}
	for _, section := range sectionsOf(all) {
		source, err := c.source(section)
		if err != nil {
			complain(err)
			continue
		}
		file, err := parser.ParseFile(fset, "page.go", source, parser.SkipObjectResolution)
		if err != nil {
			complain(err)
			continue
		}
		files = append(files, file)
	}
	config := types.Config{Importer: c.load, Error: complain}
	_, _ = config.Check("page", fset, files, nil) // complain gets the errors
	return complaints, len(all)
}

// exampleFiles returns the files whose code the pages show.
func exampleFiles(t *testing.T) []string {
	return walk(t, func(name string) bool {
		return slices.Contains([]string{"example_test.go", "recipes_test.go", "guide_test.go"}, path.Base(name)) ||
			path.Dir(name) == "internal/recipes" && strings.HasSuffix(name, "_test.go") ||
			slices.Contains([]string{
				"internal/integration/interop/otelhttp_test.go", "examples/quota/store.go",
			}, name)
	})
}
