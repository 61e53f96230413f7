package spillway_test

import (
	"errors"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// TestEveryExportedNameIsUsed reports exported names that only their own package and its tests use. A name counts as used
// if another package, an Example, a page of the documentation, or a method that prints the value has it.
//
// Some names count without a use: methods of an interface, fields with a JSON tag, and the constants of an enumeration
// whose type is used. Foreign packages are not read. What the checker cannot resolve because of that counts for all names
// that are spelt alike, so that the test misses some names and accuses none wrongly.
func TestEveryExportedNameIsUsed(t *testing.T) {
	u := newUsage(parseTree(t, os.DirFS(".")))
	for _, page := range pages(t) {
		u.readPage(readFile(t, page))
	}
	if len(u.names) < 1000 {
		t.Fatalf("exported names: got %d want more: does this test still read the packages?", len(u.names))
	}
	for _, name := range u.unused() {
		t.Errorf("%s: only its own package uses it: delete or unexport it, or show it in an Example or on a page", name)
	}
}

// TestUnusedNamesFindsViolations has a package with names that something uses, and names that nothing uses.
func TestUnusedNamesFindsViolations(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	u := newUsage(parseTree(t, fstest.MapFS{
		"go.mod": file("module " + module + "\n"),
		"throttle/bucket/a.go": file(`package bucket
			type Config struct { Used, Unused, OnPage int; JSON int ` + "`json:\"j\"`" + ` }
			type Kind uint8
			const (
				One Kind = iota
				Two
			)
			const Alone, OnlyHere = 1, 2
			type Result struct{ A, B int }
			type Param struct{ C int }
			type Store interface{ Load() }
			type Memory struct{}
			func (Memory) Load() {}
			func (Memory) Save() {}
			func (r Result) String() string { return string(rune(r.A)) }
			func New(Config, Param) Kind { return One }
			func Shown() {}
			func Unused() Result { return Result{1, OnlyHere} }
			func unexported() {}`),
		"throttle/bucket/a_test.go":      file("package bucket\n\nvar _ = Unused()\n\nfunc Example() { Shown() }\n"),
		"throttle/internal/fine/a.go":    file("package fine\n\nfunc Unused() {}\n"),
		"throttle/retry/foreign_test.go": file("package retry_test\n\nimport \"net/http\"\n\nvar _ = http.Alone\n"),
		"examples/a/main.go":             file("package main\n\nimport \"" + module + "/throttle/bucket\"\n\nvar _ = bucket.New(bucket.Config{Used: 1}, bucket.Param{2})\nvar _ bucket.Memory\nvar _ bucket.Store\n"),
	}))
	u.readPage("`Config.OnPage`")
	var got []string
	for _, name := range u.unused() {
		got = append(got, strings.TrimPrefix(name, "throttle/bucket."))
	}
	if want := strings.Fields("Alone Config.Unused Memory.Save OnlyHere Result.B Unused"); !slices.Equal(got, want) {
		t.Errorf("got %q want %q", got, want)
	}
}

// A usage knows the exported names of the published packages, and which of them are used.
type usage struct {
	folders map[string][]source
	fset    *token.FileSet            // of all files
	checked map[string]*types.Package // libraries by folder
	names   map[token.Pos]exportedName
	used    map[token.Pos]bool
	words   map[string]bool // words in code that is not resolved, and in the code of pages
	methods map[string]bool // of interfaces
}

// An exportedName is one name that users see.
type exportedName struct {
	folder, owner, name string
	ofType              token.Pos // the type that it is a member or a constant of
	implied             bool      // used if the type is
}

func newUsage(folders map[string][]source) *usage {
	u := &usage{
		folders: folders, checked: map[string]*types.Package{}, names: map[token.Pos]exportedName{}, used: map[token.Pos]bool{},
		words: map[string]bool{}, methods: map[string]bool{},
	}
	for _, name := range strings.Fields(`As Close Error Flush Format GoString Is LogValue MarshalJSON MarshalText
		RoundTrip ServeHTTP String Temporary Timeout Unwrap UnmarshalJSON UnmarshalText`) { // methods that standard interfaces have
		u.methods[name] = true
	}
	for _, folder := range slices.Sorted(maps.Keys(folders)) {
		_, _ = u.Import(module + "/" + folder)
		u.check(folder, func(s source) bool { return s.isTest() && strings.HasSuffix(s.file.Name.Name, "_test") })
		u.check(folder, func(s source) bool { return !strings.HasSuffix(s.file.Name.Name, "_test") })
	}
	return u
}

// Import returns the library of a folder of ours. For all other packages it returns an error: types then takes
// everything of theirs as valid and of an unknown type.
func (u *usage) Import(name string) (*types.Package, error) {
	folder, ours := strings.CutPrefix(name, module+"/")
	if name == faultsPath {
		folder, ours = "internal/third_party/faults", true
	}
	if !ours || len(u.folders[folder]) == 0 {
		return nil, errors.New("foreign")
	}
	if u.checked[folder] == nil {
		u.checked[folder] = u.check(folder, func(s source) bool { return !s.isTest() })
		for _, s := range u.folders[folder] {
			if s.isPublic() {
				u.declare(folder, u.checked[folder].Scope())
				break
			}
		}
	}
	return u.checked[folder], nil
}

// isPublic reports whether users can import the package of the file.
func (s source) isPublic() bool {
	return (s.isLibrary() || path.Dir(s.path) == "dashboards" && !s.isTest()) && !strings.Contains("/"+s.path, "/internal/")
}

// check resolves the files of a folder that keep accepts, and records what they use.
func (u *usage) check(folder string, keep func(source) bool) *types.Package {
	var files []*ast.File
	for _, s := range u.folders[folder] {
		if keep(s) {
			files, u.fset = append(files, s.file), s.fset
		}
	}
	if len(files) == 0 {
		return types.NewPackage(folder, "none")
	}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{}, Types: map[ast.Expr]types.TypeAndValue{}}
	config := types.Config{Importer: u, Error: func(error) {}, FakeImportC: true}
	pkg, _ := config.Check(module+"/"+folder, u.fset, files, info)
	for _, file := range files {
		for _, decl := range file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			u.record(folder, decl, info, ok && isShown(f.Name.Name))
			if ok && f.Name.IsExported() {
				u.record(folder, f.Type, info, true) // godoc shows its parameters and results
			}
		}
	}
	return pkg
}

// record marks what a part of a file uses. Uses in the own folder count only if they are shown.
func (u *usage) record(folder string, decl ast.Node, info *types.Info, shown bool) {
	ast.Inspect(decl, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			id, _ := sel.X.(*ast.Ident)
			if pkg, ok := info.Uses[id].(*types.PkgName); ok && !u.isOurs(pkg.Imported().Path()) {
				return false
			}
		}
		if lit, ok := n.(*ast.CompositeLit); ok && len(lit.Elts) > 0 {
			u.recordFields(folder, lit, info, shown)
		}
		id, ok := n.(*ast.Ident)
		if !ok || !id.IsExported() || info.Defs[id] != nil {
			return true
		}
		object := info.Uses[id]
		if object == nil {
			u.words[id.Name] = true
		} else {
			u.mark(object, folder, shown)
		}
		return true
	})
}

// recordFields marks all fields of a struct that a literal sets without their names.
func (u *usage) recordFields(folder string, lit *ast.CompositeLit, info *types.Info, shown bool) {
	typ := info.TypeOf(lit)
	if _, keyed := lit.Elts[0].(*ast.KeyValueExpr); keyed || typ == nil {
		return
	}
	if s, ok := typ.Underlying().(*types.Struct); ok {
		for field := range s.Fields() {
			u.mark(field, folder, shown)
		}
	}
}

// mark notes a use in a folder. In the folder of the name it counts only if it is shown.
func (u *usage) mark(object types.Object, folder string, shown bool) {
	if shown || path.Dir(u.fset.Position(object.Pos()).Filename) != folder {
		u.used[object.Pos()] = true
	}
}

// isShown reports whether users see what a function of this name does with other names: as an example, or in a log.
func isShown(function string) bool {
	return strings.HasPrefix(function, "Example") || slices.Contains([]string{"Error", "LogHooks", "LogValue", "String"}, function)
}

func (u *usage) isOurs(imported string) bool {
	_, err := u.Import(imported)
	return err == nil
}

// declare adds the exported names of a package.
func (u *usage) declare(folder string, scope *types.Scope) {
	for _, name := range scope.Names() {
		object := scope.Lookup(name)
		of, _ := types.Unalias(object.Type()).(*types.Named)
		switch object := object.(type) {
		case *types.TypeName:
			if of != nil && object.Exported() {
				u.declareMembers(folder, object, of)
			} else if of != nil {
				u.declareInterface(of)
			}
		case *types.Const:
			if of != nil && of.Obj().Pkg() == object.Pkg() {
				u.add(object, exportedName{folder, "", name, of.Obj().Pos(), true})
				continue
			}
		}
		u.add(object, exportedName{folder, "", name, token.NoPos, false})
	}
}

func (u *usage) declareMembers(folder string, typ *types.TypeName, of *types.Named) {
	for method := range of.Methods() {
		u.add(method, exportedName{folder, typ.Name(), method.Name(), typ.Pos(), u.methods[method.Name()]})
	}
	switch under := of.Underlying().(type) {
	case *types.Struct:
		for i := range under.NumFields() {
			field := under.Field(i)
			implied := field.Embedded() || strings.Contains(under.Tag(i), "json:")
			u.add(field, exportedName{folder, typ.Name(), field.Name(), typ.Pos(), implied})
		}
	case *types.Interface:
		u.declareInterface(of)
		for method := range under.ExplicitMethods() {
			u.add(method, exportedName{folder, typ.Name(), method.Name(), typ.Pos(), true})
		}
	}
}

// declareInterface notes the methods of an interface.
func (u *usage) declareInterface(of *types.Named) {
	if under, ok := of.Underlying().(*types.Interface); ok {
		for method := range under.ExplicitMethods() {
			u.methods[method.Name()] = true
		}
	}
}

func (u *usage) add(object types.Object, name exportedName) {
	if _, ok := u.names[object.Pos()]; object.Exported() && !ok {
		u.names[object.Pos()] = name
	}
}

// readPage adds what a page names: throttle.New, and of types Config.Name.
func (u *usage) readPage(markdown string) {
	for _, name := range regexp.MustCompile(`\b\w+\.[A-Z]\w*`).FindAllString(markdown, -1) {
		u.words[name] = true
	}
}

// named reports whether a page has the name, or code that is not resolved has a field or method that is spelt alike.
func (u *usage) named(name exportedName) bool {
	if name.owner == "" {
		return u.words[path.Base(name.folder)+"."+name.name]
	}
	return u.words[name.owner+"."+name.name] || u.words[name.name]
}

// unused returns the names that nothing uses.
func (u *usage) unused() (found []string) {
	for pos, name := range u.names {
		if u.used[pos] = u.used[pos] || u.named(name); u.used[pos] {
			u.used[name.ofType] = true
		}
	}
	for pos, name := range u.names {
		implied := name.ofType.IsValid() && u.used[name.ofType] && (name.implied || u.methods[name.name])
		if !u.used[pos] && !implied {
			found = append(found, strings.TrimSuffix(name.folder+"."+name.owner, ".")+"."+name.name)
		}
	}
	slices.Sort(found)
	return found
}
