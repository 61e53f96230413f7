package main

import (
	"fmt"
	"go/ast"
	"go/format"
	"go/token"
	"strings"
)

// hiddenMethod begins the line of a method whose type is not exported. It counts only where a type that is embeds it.
const hiddenMethod = "hidden method "

// declarations returns a line for each exported thing of a package.
func declarations(files []*ast.File) []string {
	var lines []string
	for _, file := range files {
		for _, decl := range file.Decls {
			switch decl := decl.(type) {
			case *ast.FuncDecl:
				lines = append(lines, function(decl)...)
			case *ast.GenDecl:
				lines = append(lines, general(decl)...)
			}
		}
	}
	return promoted(lines)
}

// promoted gives the methods of types that are not exported to those that embed them, and drops the others.
func promoted(lines []string) []string {
	var all []string
	for _, line := range lines {
		if !strings.HasPrefix(line, hiddenMethod) {
			all = append(all, line)
		}
		head, embedded, ok := strings.Cut(line, " struct, embedded ")
		if !ok || ast.IsExported(strings.TrimLeft(embedded, "*")) {
			continue
		}
		for _, method := range lines {
			receiver, rest, _ := strings.Cut(strings.TrimPrefix(method, hiddenMethod+"("), ") ")
			if strings.HasPrefix(method, hiddenMethod) && strings.TrimLeft(receiver, "*") == strings.TrimLeft(embedded, "*") {
				all = append(all, head+" struct, promoted "+rest)
			}
		}
	}
	return all
}

func function(f *ast.FuncDecl) []string {
	if !f.Name.IsExported() {
		return nil
	}
	if f.Recv == nil {
		return []string{"func " + f.Name.Name + signature(f.Type)}
	}
	receiver := source(f.Recv.List[0].Type)
	line := fmt.Sprintf("method (%s) %s%s", receiver, f.Name.Name, signature(f.Type))
	if !ast.IsExported(strings.TrimLeft(receiver, "*")) {
		line = "hidden " + line
	}
	return []string{line}
}

func general(decl *ast.GenDecl) []string {
	var lines []string
	var last *ast.ValueSpec // of a group of constants, whose expression goes on
	for i, spec := range decl.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			lines = append(lines, typ(spec)...)
		case *ast.ValueSpec:
			if len(spec.Values) > 0 {
				last = spec
			}
			lines = append(lines, values(decl.Tok, spec, last, i)...)
		}
	}
	return lines
}

// values returns a line for each exported constant or variable. A constant's value is part of what others rely on, but for that of Version, which
// is another in each release.
func values(tok token.Token, spec, last *ast.ValueSpec, position int) []string {
	var lines []string
	for i, name := range spec.Names {
		if !name.IsExported() {
			continue
		}
		line := tok.String() + " " + name.Name
		if t := spec.Type; t != nil {
			line += " " + source(t)
		} else if last != nil && last.Type != nil {
			line += " " + source(last.Type)
		}
		if tok == token.CONST && last != nil && i < len(last.Values) && name.Name != "Version" {
			line += " = " + constant(last.Values[i], position)
		}
		lines = append(lines, line)
	}
	return lines
}

// constant returns the expression of a constant, and where its iota stands.
func constant(value ast.Expr, position int) string {
	counted := false
	ast.Inspect(value, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		counted = counted || ok && id.Name == "iota"
		return true
	})
	if !counted {
		return source(value)
	}
	return fmt.Sprintf("%s (iota %d)", source(value), position)
}

func typ(spec *ast.TypeSpec) []string {
	if !spec.Name.IsExported() {
		return nil
	}
	head := "type " + spec.Name.Name + parameters(spec.TypeParams)
	if spec.Assign.IsValid() {
		return []string{head + " = " + source(spec.Type)}
	}
	switch t := spec.Type.(type) {
	case *ast.StructType:
		return append([]string{head + " struct"}, fields(head+" struct, ", t)...)
	case *ast.InterfaceType:
		return append([]string{head + " interface"}, methods(head+" interface, ", t)...)
	}
	return []string{head + " " + source(spec.Type)}
}

func fields(prefix string, t *ast.StructType) []string {
	var lines []string
	for _, field := range t.Fields.List {
		if len(field.Names) == 0 {
			lines = append(lines, prefix+"embedded "+source(field.Type))
		}
		for _, name := range field.Names {
			if name.IsExported() {
				lines = append(lines, prefix+name.Name+" "+source(field.Type))
			}
		}
	}
	return lines
}

// methods returns the methods of an interface. One more breaks everybody who implements it, also one that is not exported.
func methods(prefix string, t *ast.InterfaceType) []string {
	var lines []string
	for _, method := range t.Methods.List {
		if len(method.Names) == 0 {
			lines = append(lines, prefix+"embedded "+source(method.Type))
		}
		for _, name := range method.Names {
			f, ok := method.Type.(*ast.FuncType)
			switch {
			case !name.IsExported():
				lines = append(lines, prefix+"unexported methods")
			case ok:
				lines = append(lines, prefix+name.Name+signature(f))
			}
		}
	}
	return lines
}

// signature returns what a function takes and returns, without the names.
func signature(f *ast.FuncType) string {
	s := parameters(f.TypeParams) + "(" + strings.Join(types(f.Params), ", ") + ")"
	switch results := types(f.Results); len(results) {
	case 0:
		return s
	case 1:
		return s + " " + results[0]
	default:
		return s + " (" + strings.Join(results, ", ") + ")"
	}
}

// types returns the type of each parameter or result.
func types(list *ast.FieldList) []string {
	var all []string
	if list == nil {
		return nil
	}
	for _, field := range list.List {
		for range max(1, len(field.Names)) {
			all = append(all, source(field.Type))
		}
	}
	return all
}

// parameters returns the type parameters, whose names the types around them use.
func parameters(list *ast.FieldList) string {
	if list == nil {
		return ""
	}
	var all []string
	for _, field := range list.List {
		for _, name := range field.Names {
			all = append(all, name.Name+" "+source(field.Type))
		}
	}
	return "[" + strings.Join(all, ", ") + "]"
}

// source returns an expression as it is written, on one line, with types of functions without the names of their parameters.
func source(expr ast.Expr) string {
	if f, ok := expr.(*ast.FuncType); ok {
		return "func" + signature(f)
	}
	var b strings.Builder
	if err := format.Node(&b, token.NewFileSet(), expr); err != nil {
		return fmt.Sprintf("%T", expr) // go/format knows every expression that was parsed
	}
	return strings.Join(strings.Fields(b.String()), " ")
}
