// Package spillway_test guards the house: what each folder may import, what the library must never do, how it is written.
//
// The rules are pure functions in house_rules_test.go, and the tree is read by parsing it (house_source_test.go): a test
// that asks the go command is served from the test cache and misses what was just planted.
package spillway_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestHouse(t *testing.T) {
	h := readHouse(t, ".")
	if !slices.Contains(h.folders, "throttle") || !slices.ContainsFunc(h.sources, source.isLibrary) {
		t.Fatal("found no library to check: does the test still run at the root of the repository?")
	}
	found := inspect(h)
	for _, name := range slices.Sorted(maps.Keys(found)) {
		t.Run(name, func(t *testing.T) {
			for _, complaint := range found[name] {
				t.Error(complaint)
			}
		})
	}
}

// inspect applies every rule to the house and returns the complaints by rule, with an entry for each rule.
func inspect(h house) map[string][]string {
	found := map[string][]string{"folder names": nil}
	for _, dir := range h.folders {
		found["folder names"] = append(found["folder names"], checkFolderName(dir)...)
	}
	for _, rule := range fileRules {
		found[rule.name] = nil
		for _, s := range h.sources {
			found[rule.name] = append(found[rule.name], rule.check(s)...)
		}
	}
	folders := h.byFolder()
	for _, rule := range folderRules {
		found[rule.name] = nil
		for _, dir := range slices.Sorted(maps.Keys(folders)) {
			found[rule.name] = append(found[rule.name], rule.check(folders[dir])...)
		}
	}
	return found
}

// TestInspectFindsPlanted plants one violation of every rule in a tree on disk, so that no rule can be left out of inspect.
func TestInspectFindsPlanted(t *testing.T) {
	root := t.TempDir()
	plant := func(name, text string) {
		file := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	plant("go.mod", "module "+module+"\n")
	plant("throttle/a.go", "package throttle\n\nimport _ \"go.opentelemetry.io/otel\"\n\nvar n int\n\nfunc init() {}\n\nfunc Do() {}\n")
	plant("throttle/long.go", "package throttle\n\nfunc long() {"+strings.Repeat("\n", maxFileLines)+"}\n")
	plant("throttle/util/util.go", "package util\n")
	plant("throttle/redisstore/go.mod", "module "+module+"/throttle/redisstore\n")
	plant("throttle/redisstore/a.go", "// Package redisstore is clean.\npackage redisstore\n\nimport _ \"github.com/redis/go-redis/v9\"\n")
	plant("testdata/a.go", "this is not Go")

	want := map[string]int{
		"imports": 1, "no init": 1, "no package state": 1, "function length": 1, "file length": 1,
		"exported docs": 1, "package docs": 2, "examples": 3, "folder names": 1,
	}
	for name, found := range inspect(readHouse(t, root)) {
		if len(found) != want[name] {
			t.Errorf("%s: got %d complaints, want %d: %q", name, len(found), want[name], found)
		}
		delete(want, name)
	}
	if len(want) > 0 {
		t.Errorf("no rule answers to %v", want)
	}
}

func TestFileRules(t *testing.T) {
	const otelapi, sdk = "import _ \"go.opentelemetry.io/otel\"", "import _ \"go.opentelemetry.io/otel/sdk/metric\""
	adapter := "import _ \"" + module + "/otelthrottle\""
	redis := "import _ \"github.com/redis/go-redis/v9\""
	faultsAndStd := "import (\n_ \"net/http\"\n_ \"" + faults + "\"\n)"
	lines := func(n int) string { return strings.Repeat("\n", n) }
	tests := []struct {
		name, path, module, body string
		check                    func(source) []string
		want                     string // part of the one complaint; empty for a clean file
	}{
		{"core imports otel", "throttle/a.go", ".", otelapi, checkImports, "throttle/a.go:3: must not import go.open"},
		{"core imports subpackage", "throttle/a.go", ".", "import _ \"" + module + "/throttle/bucket\"", checkImports, "must not"},
		{"core imports third party", "throttle/a.go", ".", redis, checkImports, "must not import github.com/redis"},
		{"core imports faults and std", "throttle/a.go", ".", faultsAndStd, checkImports, ""},
		{"core imports its internal", "throttle/a.go", ".", "import _ \"" + module + "/throttle/internal/window\"", checkImports, ""},
		{"core internal imports otel", "throttle/internal/window/a.go", ".", otelapi, checkImports, "must not"},
		{"core test imports otel", "throttle/a_test.go", ".", otelapi, checkImports, ""},
		{"subpackage imports third party", "throttle/bucket/a.go", ".", redis, checkImports, "must not"},
		{"subpackage imports adapter", "throttle/bucket/a.go", ".", adapter, checkImports, "must not"},
		{"subpackage imports core", "throttle/bucket/a.go", ".", "import _ \"" + module + "/throttle\"", checkImports, ""},
		{"nested module imports otel", "throttle/redisstore/a.go", "throttle/redisstore", otelapi, checkImports, "must not"},
		{"nested module imports adapter", "throttle/redisstore/a.go", "throttle/redisstore", adapter, checkImports, "must not"},
		{"nested module imports its driver", "throttle/redisstore/a.go", "throttle/redisstore", redis, checkImports, ""},
		{"adapter imports sdk", "otelthrottle/a.go", ".", sdk, checkImports, "must not import go.opentelemetry.io/otel/sdk"},
		{"adapter imports third party", "otelthrottle/a.go", ".", redis, checkImports, "must not"},
		{"adapter imports api", "otelthrottle/a.go", ".", otelapi, checkImports, ""},
		{"adapter test imports sdk", "otelthrottle/a_test.go", ".", sdk, checkImports, ""},
		{"example imports anything", "examples/webhooks/a.go", "examples", sdk, checkImports, ""},

		{"init", "throttle/a.go", ".", "func init() {}", checkNoInit, "func init"},
		{"init method", "throttle/a.go", ".", "type t int\nfunc (t) init() {}", checkNoInit, ""},
		{"init in a test", "throttle/a_test.go", ".", "func init() {}", checkNoInit, ""},
		{"init in the library's command", "throttle/statusz/gen/a.go", ".", "package main\n\nfunc init() {}", checkNoInit, ""},
		{"init in an example", "examples/batch/a.go", "examples", "func init() {}", checkNoInit, ""},

		{"map", "otelthrottle/a.go", ".", "var seen = map[string]int{}", checkNoState, "package variable seen"},
		{"error map", "throttle/a.go", ".", "var ErrSeen = map[string]error{}", checkNoState, "package variable ErrSeen"},
		{"mutex", "throttle/a.go", ".", "var mu sync.Mutex", checkNoState, "package variable mu"},
		{"second of two", "throttle/a.go", ".", "var ErrA, n = errors.New(\"a\"), 1", checkNoState, "package variable n"},
		{"swappable func", "throttle/a.go", ".", "var now = time.Now", checkNoState, "package variable now"},
		{"call", "throttle/a.go", ".", "var re = regexp.MustCompile(``)", checkNoState, "package variable re"},
		{"undeclared literal", "throttle/a.go", ".", "var ErrA = &shed{}", checkNoState, "package variable ErrA"},
		{"sentinel", "throttle/a.go", ".", "var (\nErrA = errors.New(\"a\")\nErrB = fmt.Errorf(\"b: %w\", ErrA)\n)", checkNoState, ""},
		{"typed sentinel", "throttle/a.go", ".", "var ErrA error = &shed{}", checkNoState, ""},
		{"assertion", "throttle/a.go", ".", "var _ error = (*shed)(nil)", checkNoState, ""},
		{"embedded file", "throttle/statusz/a.go", ".", "//go:embed page.html\nvar page string", checkNoState, ""},
		{"local variable", "throttle/a.go", ".", "func f() { var n int; _ = n }", checkNoState, ""},

		{"function of 51 lines", "throttle/a.go", ".", "func f() {" + lines(50) + "}", checkFuncLength, "f has 51 lines"},
		{"function of 50 lines", "throttle/a.go", ".", "func f() {" + lines(49) + "}", checkFuncLength, ""},
		{"file of 301 lines", "throttle/a.go", ".", "func f() {" + lines(298) + "}", checkFileLength, "301 lines"},
		{"file of 300 lines", "throttle/a.go", ".", "func f() {" + lines(297) + "}", checkFileLength, ""},
		{"generated file", "throttle/a.go", ".", "// Code generated by x. DO NOT EDIT.\n\npackage throttle\n" + lines(300), checkFileLength, ""},

		{"bare func", "throttle/a.go", ".", "func Do() {}", checkExportedDocs, "Do has no doc"},
		{"other name", "throttle/a.go", ".", "// Doer does.\nfunc Do() {}", checkExportedDocs, "Do has no doc"},
		{"bare method", "throttle/a.go", ".", "// T is.\ntype T[P any] int\nfunc (t *T[P]) Do() {}", checkExportedDocs, "Do has no doc"},
		{"grouped var", "throttle/a.go", ".", "// Errors.\nvar (\nErrA = 1\n)", checkExportedDocs, "ErrA has no doc"},
		{"bare const block", "throttle/a.go", ".", "const (\nHigh = 1\n)", checkExportedDocs, "High has no doc"},
		{"explained func", "throttle/a.go", ".", "// Do does.\nfunc Do() {}", checkExportedDocs, ""},
		{"explained const block", "throttle/a.go", ".", "// Priorities.\nconst (\nHigh = 1\n)", checkExportedDocs, ""},
		{"method of a hidden type", "throttle/a.go", ".", "type t int\nfunc (t) Do() {}", checkExportedDocs, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			text := tt.body + "\n"
			if !strings.Contains(text, "package ") {
				text = "package throttle\n\n" + text
			}
			expect(t, tt.check(parse(t, tt.path, tt.module, text)), tt.want)
		})
	}
}

func TestFolderRules(t *testing.T) {
	const undocumented, example = "package a\n", "package a\n\nfunc Example() {\n\t// Output:\n}\n"
	tests := []struct {
		name  string
		files map[string]string
		check func([]source) []string
		want  string
	}{
		{"no package doc", map[string]string{"throttle/a.go": undocumented}, checkPackageDocs, "no file has the package comment"},
		{"other package doc", map[string]string{"throttle/a.go": "// Hello.\npackage a\n"}, checkPackageDocs, "no file has"},
		{"package doc in one file", map[string]string{"throttle/a.go": undocumented, "throttle/doc.go": "// Package a is.\npackage a\n"}, checkPackageDocs, ""},
		{"command doc", map[string]string{"examples/batch/a.go": "// Batch runs.\npackage main\n"}, checkPackageDocs, ""},
		{"no example", map[string]string{"throttle/a.go": undocumented}, checkExamples, "no Example"},
		{"example without output", map[string]string{"throttle/a.go": undocumented, "throttle/a_test.go": "package a\n\nfunc Example() {}\n"}, checkExamples, "no Example"},
		{"example", map[string]string{"throttle/a.go": undocumented, "throttle/a_test.go": example}, checkExamples, ""},
		{"internal package", map[string]string{"throttle/internal/a/a.go": undocumented}, checkExamples, ""},
		{"command", map[string]string{"dashboards/gen/a.go": "package main\n"}, checkExamples, ""},
		{"only tests", map[string]string{"a_test.go": undocumented}, checkExamples, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var folder []source
			for name, text := range tt.files {
				folder = append(folder, parse(t, name, ".", text))
			}
			expect(t, tt.check(folder), tt.want)
		})
	}
}

func TestFolderNames(t *testing.T) {
	for _, dir := range []string{"util", "throttle/utils", "throttle/Common", "types", "pkg", "internal/helpers", "a/misc"} {
		expect(t, checkFolderName(dir), dir)
	}
	for _, dir := range []string{".", "throttle", "internal/third_party", "throttle/utility"} {
		expect(t, checkFolderName(dir), "")
	}
}

// expect wants one complaint that contains want, or none when want is empty.
func expect(t *testing.T, found []string, want string) {
	t.Helper()
	switch {
	case want == "" && len(found) > 0:
		t.Errorf("got %q, want no complaint", found)
	case want != "" && (len(found) != 1 || !strings.Contains(found[0], want)):
		t.Errorf("got %q, want one complaint about %q", found, want)
	}
}
