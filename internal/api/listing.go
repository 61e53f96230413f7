package main

import (
	"fmt"
	"go/ast"
	"go/build/constraint"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// list returns a line for each exported thing of every public package below root, sorted.
func list(root string) ([]string, error) {
	folders, err := publicFolders(root)
	if err != nil {
		return nil, err
	}
	var lines []string
	for _, folder := range folders {
		files, err := parse(filepath.Join(root, folder))
		if err != nil {
			return nil, err
		}
		for _, line := range declarations(files) {
			lines = append(lines, fmt.Sprintf("%s: %s", folder, line))
		}
	}
	slices.Sort(lines)
	return slices.Compact(lines), nil
}

// publicFolders returns the folders that hold packages which others may import: none is called internal, and the examples are programs.
func publicFolders(root string) ([]string, error) {
	var folders []string
	err := fs.WalkDir(os.DirFS(root), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case !entry.IsDir():
			if isSource(name) && path.Dir(name) != "." && !slices.Contains(folders, path.Dir(name)) {
				folders = append(folders, path.Dir(name))
			}
		case name != "." && hidden(entry.Name()), name == "examples":
			return fs.SkipDir
		}
		return nil
	})
	return folders, err
}

func hidden(folder string) bool {
	return folder == "internal" || folder == "testdata" || strings.HasPrefix(folder, ".") || strings.HasPrefix(folder, "_")
}

func isSource(name string) bool {
	return strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go")
}

// parse returns the files of a package. A program has nothing that can be imported, and neither has a file that is built by hand only.
func parse(folder string) ([]*ast.File, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	var files []*ast.File
	for _, entry := range entries {
		if !isSource(entry.Name()) {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(folder, entry.Name()), nil, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		if file.Name.Name != "main" && !ignored(file) {
			files = append(files, file)
		}
	}
	return files, nil
}

// ignored reports whether the file's build constraint keeps it out of every build.
func ignored(file *ast.File) bool {
	for _, group := range file.Comments {
		for _, comment := range group.List {
			if comment.Pos() > file.Package || !constraint.IsGoBuild(comment.Text) {
				continue
			}
			if expr, err := constraint.Parse(comment.Text); err == nil && expr.String() == "ignore" {
				return true
			}
		}
	}
	return false
}
