package faults_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// surface is all that the stand-in may export: the part of the real module
// that Spillway uses. Code that needs more would not be sure to build there.
const surface = `
AvailabilityFailure RetryInfo QuotaFailure QuotaViolation BadRequest FieldViolation
PreconditionFailure PreconditionViolation ConflictFailure ConflictViolation
MissingFailure PermissionFailure AuthenticationFailure UnimplementedFailure
AvailabilityFailure.RetryInfo RetryInfo.RetryDelay
QuotaFailure.Violations QuotaViolation.Subject QuotaViolation.Description
BadRequest.Violations FieldViolation.Field FieldViolation.Description
PreconditionFailure.Violations PreconditionViolation.Type
PreconditionViolation.Subject PreconditionViolation.Description
ConflictFailure.Violations ConflictViolation.Resource ConflictViolation.Description
NotFound PermissionDenied Unauthenticated Unimplemented
Unavailable ResourceExhausted Bad FailedPrecondition Aborted
`

func TestSurface(t *testing.T) {
	want := strings.Fields(surface)
	for _, k := range kinds() {
		want = append(want, "With"+k.name, "Is"+k.name, "As"+k.name)
		failure := strings.TrimPrefix(fmt.Sprintf("%T", k.zero), "*faults.")
		want = append(want, failure+".Error", failure+".Is", failure+".Unwrap")
	}
	got := exported(t)
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("exported names differ\ngot  %v\nwant %v", got, want)
	}
}

// exported lists the names that the package's own source exports.
func exported(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			names = append(names, declared(decl)...)
		}
	}
	return slices.DeleteFunc(names, func(name string) bool {
		return !ast.IsExported(name[strings.LastIndexByte(name, '.')+1:])
	})
}

// declared lists the names of a declaration, a type's fields included.
func declared(decl ast.Decl) []string {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		return []string{receiver(d) + d.Name.Name}
	case *ast.GenDecl:
		var names []string
		for _, spec := range d.Specs {
			names = append(names, specified(spec)...)
		}
		return names
	}
	return nil
}

func specified(spec ast.Spec) []string {
	var names []string
	switch s := spec.(type) {
	case *ast.ValueSpec:
		for _, n := range s.Names {
			names = append(names, n.Name)
		}
	case *ast.TypeSpec:
		names = append(names, s.Name.Name)
		if st, ok := s.Type.(*ast.StructType); ok {
			for _, f := range st.Fields.List {
				for _, n := range f.Names {
					names = append(names, s.Name.Name+"."+n.Name)
				}
			}
		}
	}
	return names
}

// receiver is "T." for a method of *T, and empty for a function.
func receiver(d *ast.FuncDecl) string {
	if d.Recv == nil {
		return ""
	}
	if star, ok := d.Recv.List[0].Type.(*ast.StarExpr); ok {
		return star.X.(*ast.Ident).Name + "."
	}
	return "value receiver."
}
