package faults_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
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
		want = append(want, failure+".Error") // the tests of kinds call Is and Unwrap
	}
	got := exported(t)
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("exported names differ\ngot  %v\nwant %v", got, want)
	}
}

// exported lists the names that the package's own source exports, methods and fields with their type.
func exported(t *testing.T) (names []string) {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	declared := regexp.MustCompile(`(?m)^(?:func|type|var|const) (?:\((?:\w+ )?\*(\w+)\) )?([A-Z]\w*)`)
	structs, field := regexp.MustCompile(`(?ms)^type (\w+) struct \{$(.*?)^\}`), regexp.MustCompile(`(?m)^\t([A-Z]\w*) `)
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		if regexp.MustCompile(`(?m)^(var|type|const) \(`).Match(text) {
			t.Errorf("%s: got a group of declarations, which this test does not read", name)
		}
		for _, m := range declared.FindAllStringSubmatch(string(text), -1) {
			names = append(names, strings.TrimPrefix(m[1]+"."+m[2], "."))
		}
		for _, s := range structs.FindAllStringSubmatch(string(text), -1) {
			for _, m := range field.FindAllStringSubmatch(s[2], -1) {
				names = append(names, s[1]+"."+m[1])
			}
		}
	}
	return names
}
