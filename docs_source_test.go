package spillway_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// goBlock is a block of Go, or a hidden comment with Go. Its imports are cut out of its text.
type goBlock struct {
	block

	imports []*ast.ImportSpec
	section int // the number of headings (##) above it
}

var (
	importsOf = regexp.MustCompile(`(?m)^import (\((?s:.*?)^\)|.*)`)
	hidden    = regexp.MustCompile(`(?m)^<!-- go\n((?s:.*?))^-->`)
)

// goOf returns the Go of a page in the order of the page.
func goOf(page, markdown string) (all []goBlock) {
	fenced := hidden.ReplaceAllString(markdown, "```hidden\n$1```")
	for _, b := range blocksOf(page, fenced) {
		if b.language != "go" && b.language != "hidden" {
			continue
		}
		above := strings.Join(strings.SplitAfter(markdown, "\n")[:b.line], "")
		g := goBlock{block: b, section: strings.Count(above, "\n## ")}
		g.text = importsOf.ReplaceAllStringFunc(b.text, func(text string) string {
			file, err := parser.ParseFile(token.NewFileSet(), page, "package page\n"+text, parser.ImportsOnly)
			if err == nil {
				g.imports = append(g.imports, file.Imports...)
			}
			return strings.Repeat("\n", strings.Count(text, "\n"))
		})
		all = append(all, g)
	}
	return all
}

// sectionsOf returns the blocks of each section.
func sectionsOf(all []goBlock) (sections [][]goBlock) {
	for i, b := range all {
		if i == 0 || b.section != all[i-1].section {
			sections = append(sections, nil)
		}
		sections[len(sections)-1] = append(sections[len(sections)-1], b)
	}
	return sections
}

func importPath(spec *ast.ImportSpec) string {
	p, _ := strconv.Unquote(spec.Path.Value) // the parser has checked it
	return p
}

// source returns the file that the Go of a section makes.
func (c *compiler) source(all []goBlock) (string, error) {
	imports, err := c.imports(all)
	if err != nil {
		return "", err
	}
	var top, body, end strings.Builder
	for _, b := range all {
		line := fmt.Sprintf("//line %s:%d\n", b.page, b.line+1)
		isStatements := parses("func _() {\n" + b.text + "\n}")
		switch {
		case b.language == "hidden" || !isStatements && parses(b.text): // declarations
			top.WriteString(line + b.text + "\n")
		case !isStatements && parses("var _ = f(\n"+b.text+"\n)"): // arguments of a call
			body.WriteString("results(\n" + line + b.text + ")\n")
		default:
			body.WriteString("{\n" + line + returns(b.text) + "\n")
			end.WriteString("}\n")
		}
	}
	return fmt.Sprintf("//line %s:%d\npackage page\n", all[0].page, all[0].line) + imports + top.String() +
		"func _() (_ any) {\nresults := func(...any) (_ any) { return }\n" + body.String() + end.String() + "return nil\n}\n", nil
}

// imports returns the imports that a section shows, and those that it need not show: packages that alone have their
// name, or are the only one of ours. A block that shows imports shows all except those of the standard library.
func (c *compiler) imports(section []goBlock) (string, error) {
	imported := map[string]string{}
	for _, b := range section {
		for _, spec := range b.imports {
			name, p := c.packages[importPath(spec)], importPath(spec)
			if spec.Name != nil {
				name = spec.Name.Name
			}
			if other := imported[name]; other != "" && other != p {
				return "", fmt.Errorf("%s:%d: imports %s as %s, which is %s in this section", b.page, b.line, p, name, other)
			}
			imported[name] = p
		}
	}
	for _, b := range section {
		for _, use := range regexp.MustCompile(`\b(\w+)\.`).FindAllStringSubmatch(b.text, -1) {
			paths := c.known[use[1]]
			if len(paths) == 1 && imported[use[1]] == "" && (len(b.imports) == 0 || isStandard(paths[0])) {
				imported[use[1]] = paths[0]
			}
		}
	}
	var text strings.Builder
	for name, p := range imported {
		fmt.Fprintf(&text, "import %s %q\n", name, p)
	}
	return text.String(), nil
}

func parses(declarations string) bool {
	_, err := parser.ParseFile(token.NewFileSet(), "", "package page\n"+declarations, parser.SkipObjectResolution)
	return err == nil
}

// returns puts the results of return statements into a call, because a block does not show which function it is in.
func returns(statements string) string {
	const before = "package page\nfunc _() {\n"
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "", before+statements+"\n}", parser.SkipObjectResolution)
	if err != nil {
		return statements // the parser complains about the whole page then
	}
	var found []*ast.ReturnStmt
	ast.Inspect(file, func(n ast.Node) bool {
		if r, ok := n.(*ast.ReturnStmt); ok && len(r.Results) > 0 {
			found = append(found, r)
		}
		_, inside := n.(*ast.FuncLit)
		return !inside
	})
	at := func(p token.Pos) int { return fset.Position(p).Offset - len(before) }
	for _, r := range slices.Backward(found) {
		from, to := at(r.Results[0].Pos()), at(r.End())
		statements = statements[:from] + "results(" + statements[from:to] + ")" + statements[to:]
	}
	return statements
}
