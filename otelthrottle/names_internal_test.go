package otelthrottle

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"
)

// TestOwnKeysAreAllThatThereAre compares them with the constants of names.go.
func TestOwnKeysAreAllThatThereAre(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "names.go", nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var constants, listed []string
	add := func(to *[]string, n ast.Node) {
		ast.Inspect(n, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok && strings.HasPrefix(id.Name, "Key") {
				*to = append(*to, id.Name)
			}
			_, qualified := n.(*ast.SelectorExpr) // attribute.Key
			return !qualified
		})
	}
	for _, decl := range file.Decls {
		switch d := decl.(type) {
		case *ast.GenDecl:
			add(&constants, d)
		case *ast.FuncDecl:
			add(&listed, d.Body)
		}
	}
	slices.Sort(constants)
	slices.Sort(listed)
	if len(constants) == 0 || !slices.Equal(constants, listed) || len(listed) != len(ownKeys()) {
		t.Errorf("keys: got %q want %q", listed, constants)
	}
}
