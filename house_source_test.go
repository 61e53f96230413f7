package spillway_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"iter"
	"os"
	"path"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// A source is one parsed Go file and where it stands in the house.
type source struct {
	path   string // slash-separated, from the root of the repository
	module string // folder of the nearest go.mod, "." for the root
	fset   *token.FileSet
	file   *ast.File
}

// A house is every folder of the repository and every Go file in it.
type house struct {
	folders []string // slash-separated, from the root
	sources []source // in the order of their paths
}

// readHouse parses every Go file under root, except in .git and testdata.
func readHouse(t *testing.T, root string) house {
	t.Helper()
	var h house
	tree := os.DirFS(root)
	err := fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == ".git" || entry.Name() == "testdata"):
			return fs.SkipDir
		case entry.IsDir():
			h.folders = append(h.folders, name)
		case path.Ext(name) == ".go":
			text, err := fs.ReadFile(tree, name)
			if err != nil {
				return err
			}
			h.sources = append(h.sources, parse(t, name, moduleOf(tree, name), string(text)))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return h
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

// parse turns source text into a source as if it stood at name.
func parse(t *testing.T, name, module, text string) source {
	t.Helper()
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	return source{path: name, module: module, fset: fset, file: file}
}

// byFolder groups the sources by the folder that holds them.
func (h house) byFolder() map[string][]source {
	folders := make(map[string][]source)
	for _, s := range h.sources {
		dir := path.Dir(s.path)
		folders[dir] = append(folders[dir], s)
	}
	return folders
}

func (s source) isTest() bool    { return strings.HasSuffix(s.path, "_test.go") }
func (s source) isCommand() bool { return s.file.Name.Name == "main" }

// isLibrary reports whether the file is code that users compile in: hand-written, under throttle or otelthrottle.
func (s source) isLibrary() bool {
	inside := under(s.path, "throttle") || under(s.path, "otelthrottle")
	return inside && !s.isTest() && !s.isCommand() && !ast.IsGenerated(s.file)
}

// isPrivate reports whether users cannot import the file's package, or should not: the examples are read, not imported.
func (s source) isPrivate() bool {
	return under(s.path, "examples") || strings.Contains("/"+s.path, "/internal/")
}

// valueSpecs yields the file's top-level const or var specs with the declaration around them.
func (s source) valueSpecs(tok token.Token) iter.Seq2[*ast.GenDecl, *ast.ValueSpec] {
	return func(yield func(*ast.GenDecl, *ast.ValueSpec) bool) {
		for _, decl := range s.file.Decls {
			gen, ok := decl.(*ast.GenDecl)
			if !ok || gen.Tok != tok {
				continue
			}
			for _, spec := range gen.Specs {
				if !yield(gen, spec.(*ast.ValueSpec)) {
					return
				}
			}
		}
	}
}

// documented returns a complaint unless doc starts with the name.
func (s source) documented(name *ast.Ident, doc *ast.CommentGroup) []string {
	rest, ok := strings.CutPrefix(doc.Text(), name.Name)
	if next, _ := utf8.DecodeRuneInString(rest); ok && !unicode.IsLetter(next) && !unicode.IsDigit(next) {
		return nil
	}
	return []string{s.at(name, "%s has no doc comment that starts with its name", name.Name)}
}

// at formats a complaint with the place of the node in front.
func (s source) at(node ast.Node, format string, args ...any) string {
	return fmt.Sprintf("%s:%d: %s", s.path, s.line(node.Pos()), fmt.Sprintf(format, args...))
}

func (s source) line(pos token.Pos) int { return s.fset.Position(pos).Line }

// exportedReceiver reports whether fn is a function or a method of an exported type.
func exportedReceiver(fn *ast.FuncDecl) bool {
	if fn.Recv == nil {
		return true
	}
	typ := fn.Recv.List[0].Type
	for {
		switch t := typ.(type) {
		case *ast.StarExpr:
			typ = t.X
		case *ast.IndexExpr:
			typ = t.X
		case *ast.IndexListExpr:
			typ = t.X
		case *ast.Ident:
			return t.IsExported()
		default:
			return false
		}
	}
}

// isEmbed reports whether the comment holds a //go:embed line.
func isEmbed(doc *ast.CommentGroup) bool {
	if doc == nil {
		return false
	}
	for _, comment := range doc.List {
		if strings.HasPrefix(comment.Text, "//go:embed ") {
			return true
		}
	}
	return false
}

// under reports whether name is the folder or package path dir, or stands below it.
func under(name, dir string) bool { return name == dir || strings.HasPrefix(name, dir+"/") }

// isStd reports whether the import path belongs to the standard library: its first element has no dot.
func isStd(imported string) bool {
	first, _, _ := strings.Cut(imported, "/")
	return !strings.Contains(first, ".")
}
