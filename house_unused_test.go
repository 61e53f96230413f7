package spillway_test

import (
	"go/ast"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// TestEveryExportedNameIsUsed reports exported names whose word is in no other folder, no Example and on no page. Words
// that two packages spell alike count for both: the test misses some names, and accuses none wrongly.
func TestEveryExportedNameIsUsed(t *testing.T) {
	var texts []string
	for _, page := range pages(t) {
		texts = append(texts, readFile(t, page))
	}
	for _, name := range unusedNames(parseTree(t, os.DirFS(".")), texts) {
		t.Errorf("%s: only its own package uses it: delete or unexport it, or show it in an Example or on a page", name)
	}
}

// TestUnusedNamesFindsViolations has a package with names that something uses, and names that nothing uses.
func TestUnusedNamesFindsViolations(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	got := unusedNames(parseTree(t, fstest.MapFS{
		"go.mod": file("module " + module + "\n"),
		"throttle/bucket/a.go": file(`package bucket
			type Config struct { Used, Unused, OnPage int }
			type Kind uint8
			const (
				One Kind = iota
				Two
			)
			const Alone, OnlyHere = 1, 2
			type Store interface{ Load() }
			func (Kind) String() string { return "" }
			func New(Config) Kind { return One }
			func Shown() {}
			func Unseen() Kind { return OnlyHere }`),
		"throttle/bucket/a_test.go":   file("package bucket\n\nvar _ = Unseen()\n\nfunc Example() { Shown() }\n"),
		"throttle/internal/fine/a.go": file("package fine\n\nfunc Hidden() {}\n"),
		"examples/a/main.go":          file("package main\n\nvar _ = bucket.New(bucket.Config{Used: 1})\nvar _ bucket.Store\n"),
	}), []string{"`Config.OnPage`"})
	if want := strings.Fields("Config.Unused bucket.Alone bucket.OnlyHere bucket.Unseen"); !slices.Equal(got, want) {
		t.Errorf("got %q want %q", got, want)
	}
}

// unusedNames returns the names that users can import, and that only the code of their package has.
func unusedNames(folders map[string][]source, pages []string) (found []string) {
	users, names := map[string]map[string]bool{}, map[string]string{} // the folders of a word, and the folder of a name
	use := func(by string, words ...string) {
		for _, word := range words {
			if users[word] == nil {
				users[word] = map[string]bool{}
			}
			users[word][by] = true
		}
	}
	for _, page := range pages {
		use("a page", regexp.MustCompile(`\b[A-Z]\w*`).FindAllString(page, -1)...)
	}
	for folder, files := range folders {
		for _, s := range files {
			for _, decl := range s.file.Decls {
				by := folder
				if f, ok := decl.(*ast.FuncDecl); ok && isShown(f.Name.Name) {
					by = "an Example"
				}
				use(by, identifiers(decl)...)
				use("godoc", signature(decl)...)
			}
			if s.isLibrary() && !strings.Contains("/"+s.path, "/internal/") {
				for name := range declared(s.file) {
					names[name] = folder
				}
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		of, word, member := strings.Cut(name, ".")
		ours := member && ast.IsExported(word) && (ast.IsExported(of) || of == path.Base(names[name]))
		if ours && !isShown(word) && len(users[word]) == 1 && users[word][names[name]] {
			found = append(found, name)
		}
	}
	return found
}

// identifiers returns all names in a part of a file.
func identifiers(in ast.Node) (names []string) {
	ast.Inspect(in, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			names = append(names, id.Name)
		}
		return true
	})
	return names
}

// signature returns the names that godoc shows with an exported one: of its parameters and fields, and the constants of an enumeration.
func signature(decl ast.Decl) (names []string) {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if d.Name.IsExported() {
			names = identifiers(d.Type)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			first, isConst := d.Specs[0].(*ast.ValueSpec)
			switch spec := spec.(type) {
			case *ast.ValueSpec:
				if isConst && first.Type != nil {
					names = append(names, identifiers(spec)...)
				}
			case *ast.TypeSpec:
				if _, isStruct := spec.Type.(*ast.StructType); !isStruct {
					names = append(names, identifiers(spec.Type)...)
				} else {
					for _, field := range spec.Type.(*ast.StructType).Fields.List {
						names = append(names, identifiers(field.Type)...)
					}
				}
			}
		}
	}
	return names
}

// isShown reports whether users see what a function of this name does with other names: as an example, in a log, or in JSON.
func isShown(function string) bool {
	return regexp.MustCompile(`^(Example|Error$|LogHooks$|LogValue$|String$|Marshal|Unmarshal)`).MatchString(function)
}
