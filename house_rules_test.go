package spillway_test

import (
	"fmt"
	"go/ast"
	"go/doc"
	"go/token"
	"path"
	"strings"
)

const (
	module = "github.com/spillway-go/spillway"
	faults = "github.com/deixis/faults"
	otel   = "go.opentelemetry.io"

	maxFuncLines = 50
	maxFileLines = 300
)

// A fileRule looks at one parsed file and returns what is wrong with it.
type fileRule struct {
	name  string
	check func(source) []string
}

// A folderRule looks at all Go files of one folder and returns what is wrong with them together.
type folderRule struct {
	name  string
	check func([]source) []string
}

var fileRules = []fileRule{
	{"imports", checkImports},
	{"no init", checkNoInit},
	{"no package state", checkNoState},
	{"function length", checkFuncLength},
	{"file length", checkFileLength},
	{"exported docs", checkExportedDocs},
}

var folderRules = []folderRule{
	{"package docs", checkPackageDocs},
	{"examples", checkExamples},
}

// checkFolderName refuses names that say nothing about what is inside.
func checkFolderName(dir string) []string {
	switch name := path.Base(dir); strings.ToLower(name) {
	case "util", "utils", "common", "types", "pkg", "helpers", "misc":
		return []string{fmt.Sprintf("%s: a folder called %q says nothing about what is inside", dir, name)}
	}
	return nil
}

// checkImports keeps OpenTelemetry out of throttle, its SDK out of otelthrottle, and third parties out of the core.
func checkImports(s source) []string {
	allowed := importRule(s)
	if allowed == nil || s.isTest() {
		return nil
	}
	var found []string
	for _, spec := range s.file.Imports {
		if imported := strings.Trim(spec.Path.Value, "`\""); !allowed(imported) {
			found = append(found, s.at(spec, "must not import %s", imported))
		}
	}
	return found
}

// importRule says what the file may import; nil means anything.
func importRule(s source) func(imported string) bool {
	switch dir := path.Dir(s.path); {
	case under(dir, "otelthrottle"):
		return func(imported string) bool {
			sdk := under(imported, otel+"/otel/sdk") || under(imported, otel+"/otel/exporters")
			return isStd(imported) || under(imported, faults) || under(imported, module) ||
				under(imported, otel+"/otel") && !sdk
		}
	case dir == "throttle", under(dir, "throttle/internal"):
		return func(imported string) bool {
			return isStd(imported) || under(imported, faults) || under(imported, module+"/throttle/internal")
		}
	case under(dir, "throttle") && s.module == ".":
		return func(imported string) bool {
			return isStd(imported) || under(imported, faults) || under(imported, module+"/throttle")
		}
	case under(dir, "throttle"): // a nested module: its third party is why it exists
		return func(imported string) bool {
			return !under(imported, otel) && !under(imported, module+"/otelthrottle")
		}
	}
	return nil
}

// checkNoInit refuses func init in the library.
func checkNoInit(s source) []string {
	if !s.isLibrary() {
		return nil
	}
	var found []string
	for _, decl := range s.file.Decls {
		if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
			found = append(found, s.at(fn, "func init: let the caller call a constructor"))
		}
	}
	return found
}

// checkNoState refuses package variables in the library, except error values, interface assertions and embedded files.
func checkNoState(s source) []string {
	if !s.isLibrary() {
		return nil
	}
	var found []string
	for decl, spec := range s.valueSpecs(token.VAR) {
		if isEmbed(decl.Doc) || isEmbed(spec.Doc) {
			continue
		}
		for i, name := range spec.Names {
			isError := i < len(spec.Values) && isErrorValue(spec.Type, spec.Values[i])
			if name.Name != "_" && !isError {
				found = append(found, s.at(name, "package variable %s: use a const, a func or a field", name.Name))
			}
		}
	}
	return found
}

// isErrorValue accepts errors.New(...), fmt.Errorf(...), and in a variable declared as error a literal of a named type.
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
	lit, ok := value.(*ast.CompositeLit)
	if !ok {
		return false
	}
	_, named := lit.Type.(*ast.Ident)
	declared, _ := typ.(*ast.Ident)
	return named && declared != nil && declared.Name == "error"
}

// checkFuncLength counts a function's lines from its signature to its closing brace.
func checkFuncLength(s source) []string {
	if !s.isLibrary() {
		return nil
	}
	var found []string
	for _, decl := range s.file.Decls {
		fn, ok := decl.(*ast.FuncDecl)
		if !ok {
			continue
		}
		if n := s.line(fn.End()) - s.line(fn.Pos()) + 1; n > maxFuncLines {
			found = append(found, s.at(fn, "%s has %d lines, the limit is %d", fn.Name.Name, n, maxFuncLines))
		}
	}
	return found
}

// checkFileLength refuses a file that has grown a second noun.
func checkFileLength(s source) []string {
	if n := s.fset.File(s.file.Pos()).LineCount(); s.isLibrary() && n > maxFileLines {
		return []string{fmt.Sprintf("%s has %d lines, the limit is %d", s.path, n, maxFileLines)}
	}
	return nil
}

// checkExportedDocs wants each exported name explained by a comment that starts with the name.
func checkExportedDocs(s source) []string {
	if s.isTest() || s.isCommand() {
		return nil
	}
	var found []string
	for _, decl := range s.file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if d.Name.IsExported() && exportedReceiver(d) {
				found = append(found, s.documented(d.Name, d.Doc)...)
			}
		case *ast.GenDecl:
			found = append(found, checkGroupDocs(s, d)...)
		}
	}
	return found
}

// checkGroupDocs lets one comment speak for a whole const block, but not for types and variables.
func checkGroupDocs(s source, d *ast.GenDecl) []string {
	var found []string
	for _, spec := range d.Specs {
		var names []*ast.Ident
		var own *ast.CommentGroup
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			names, own = []*ast.Ident{spec.Name}, spec.Doc
		case *ast.ValueSpec:
			names, own = spec.Names, spec.Doc
		}
		if !d.Lparen.IsValid() {
			own = d.Doc
		} else if d.Tok == token.CONST && d.Doc.Text() != "" {
			continue
		}
		for _, name := range names {
			if name.IsExported() {
				found = append(found, s.documented(name, own)...)
			}
		}
	}
	return found
}

// checkPackageDocs wants one package comment per folder, "Package name ..." unless the folder is a command or only tests.
func checkPackageDocs(folder []source) []string {
	for _, s := range folder {
		text := s.file.Doc.Text()
		if strings.HasPrefix(text, "Package "+s.file.Name.Name+" ") || s.isCommand() && text != "" {
			return nil
		}
	}
	return []string{path.Dir(folder[0].path) + ": no file has the package comment"}
}

// checkExamples wants an Example with an Output comment in each package that users can import.
func checkExamples(folder []source) []string {
	var tests []*ast.File
	public := false
	for _, s := range folder {
		if s.isTest() {
			tests = append(tests, s.file)
		} else {
			public = public || !s.isCommand() && !s.isPrivate()
		}
	}
	if !public {
		return nil
	}
	for _, example := range doc.Examples(tests...) {
		if example.Output != "" || example.EmptyOutput {
			return nil
		}
	}
	return []string{path.Dir(folder[0].path) + ": no Example with an // Output: comment"}
}
