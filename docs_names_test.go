package spillway_test

import (
	"go/ast"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// exported returns the names that our packages export: throttle.New, and of types Throttle.Do and
// Config.Name. The types and packages themselves are keys too.
func exported(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	for folder, files := range parseTree(t, os.DirFS(".")) {
		for _, s := range files {
			if !strings.Contains(s.path, "internal/") && (s.isLibrary() || folder == "dashboards" && !s.isTest()) {
				names[s.file.Name.Name] = true
				maps.Copy(names, declared(s.file))
			}
		}
	}
	return names
}

// declared returns the names that a file declares.
func declared(file *ast.File) map[string]bool {
	names, pkg := map[string]bool{}, file.Name.Name
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BlockStmt:
			return false
		case *ast.FuncDecl:
			names[owner(pkg, n)+"."+n.Name.Name] = true
		case *ast.ValueSpec:
			for _, id := range n.Names {
				names[pkg+"."+id.Name] = true
			}
		case *ast.TypeSpec:
			names[pkg+"."+n.Name.Name], names[n.Name.Name] = true, n.Name.IsExported()
			for _, member := range members(n) {
				names[n.Name.Name+"."+member] = true
			}
		}
		return true
	})
	return names
}

// owner is the type that a method belongs to, and the package for a function.
func owner(pkg string, f *ast.FuncDecl) string {
	if f.Recv == nil {
		return pkg
	}
	typ := f.Recv.List[0].Type
	if pointer, ok := typ.(*ast.StarExpr); ok {
		typ = pointer.X
	}
	name, _ := typ.(*ast.Ident)
	return name.String()
}

// members are the names of a struct's fields, and of an interface's methods.
func members(spec *ast.TypeSpec) (names []string) {
	var list *ast.FieldList
	switch typ := spec.Type.(type) {
	case *ast.StructType:
		list = typ.Fields
	case *ast.InterfaceType:
		list = typ.Methods
	default:
		return nil
	}
	for _, field := range list.List {
		for _, id := range field.Names {
			names = append(names, id.Name)
		}
	}
	return names
}

// prose returns a page without its blocks and comments. It also leaves out the first column of tables
// whose second column is Spillway: that column holds the names of other libraries.
func prose(markdown string) string {
	markdown = regexp.MustCompile("(?s)```.*?```|<!--.*?-->").ReplaceAllString(markdown, "")
	var kept strings.Builder
	theirs := false
	for line := range strings.Lines(markdown) {
		cells := strings.SplitN(line, " | ", 3)
		if theirs = strings.HasPrefix(line, "|") && (theirs || len(cells) > 1 && cells[1] == "Spillway"); theirs {
			line = strings.Join(cells[1:], " ")
		}
		kept.WriteString(line)
	}
	return kept.String()
}

// unknown returns the names in a text that look like ours and do not exist, and the number of all.
func unknown(names map[string]bool, text string) (missing []string, all int) {
	for _, name := range regexp.MustCompile(`\b(\w+)\.[A-Z]\w*`).FindAllStringSubmatch(text, -1) {
		if names[name[1]] {
			all++
			if !names[name[0]] {
				missing = append(missing, name[0])
			}
		}
	}
	return missing, all
}

// ruleFiles returns the files of rules, whose comments name functions and fields. Their tests are left out.
func ruleFiles(t *testing.T) []string {
	return walk(t, func(name string) bool {
		return path.Dir(name) == "dashboards/rules" && path.Ext(name) == ".yml" && !strings.HasSuffix(name, "_test.yml")
	})
}

func TestNames(t *testing.T) {
	names := exported(t)
	for _, texts := range []struct {
		called string
		files  []string
		least  int
	}{{"pages", pages(t), 100}, {"rules", ruleFiles(t), 3}} {
		all := 0
		for _, name := range texts.files {
			missing, n := unknown(names, prose(readFile(t, name)))
			all += n
			for _, m := range missing {
				t.Errorf("%s: got %s, which we do not have", name, m)
			}
		}
		if all < texts.least {
			t.Errorf("names found in %s: got %d want more: does this test still read them?", texts.called, all)
		}
	}
}

// anchors returns the possible targets of links into a page: headings and elements with an id.
func anchors(markdown string) map[string]bool {
	found := map[string]bool{}
	for _, id := range regexp.MustCompile(`<a id="([^"]+)"`).FindAllStringSubmatch(markdown, -1) {
		found[id[1]] = true
	}
	for _, heading := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(markdown, -1) {
		slug := regexp.MustCompile(`[^\w\- ]`).ReplaceAllString(strings.ToLower(heading[1]), "")
		found[strings.ReplaceAll(slug, " ", "-")] = true
	}
	return found
}

// brokenLink returns what is wrong with the target of a link on a page, or "".
func brokenLink(page, target string) string {
	if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
		return ""
	}
	file, anchor, _ := strings.Cut(target, "#")
	name := page
	if file != "" {
		name = filepath.Join(filepath.Dir(page), file)
	}
	if _, err := os.Stat(name); err != nil {
		return "got a link to " + target + " want a file that exists"
	}
	if text, err := os.ReadFile(name); anchor != "" && (err != nil || !anchors(string(text))[anchor]) {
		return "got a link to " + target + " want a heading that exists"
	}
	return ""
}

// links returns the targets of the links of a page, without those in code.
func links(markdown string) (targets []string) {
	markdown = regexp.MustCompile("(?s)```.*?```|`[^`\n]*`").ReplaceAllString(markdown, "")
	for _, found := range regexp.MustCompile(`\]\(([^)\s]+)\)`).FindAllStringSubmatch(markdown, -1) {
		targets = append(targets, found[1])
	}
	return targets
}

func TestLinks(t *testing.T) {
	for _, page := range pages(t) {
		for _, target := range links(readFile(t, page)) {
			if complaint := brokenLink(page, target); complaint != "" {
				t.Errorf("%s: %s", page, complaint)
			}
		}
	}
}

// missingPanels returns the panels that a text names, as in *Overview → Shed by priority*, and the
// dashboard does not have.
func missingPanels(t *testing.T, markdown string) (missing []string) {
	t.Helper()
	for _, found := range regexp.MustCompile(`\*(Overview|Availability|Breakers|Limits) → ([^*]+)\*`).FindAllStringSubmatch(markdown, -1) {
		board := readFile(t, "dashboards/"+strings.ToLower(found[1])+".json")
		if title := strings.Join(strings.Fields(found[2]), " "); !strings.Contains(board, `"title": "`+title+`"`) {
			missing = append(missing, title)
		}
	}
	return missing
}

func TestPanels(t *testing.T) {
	for _, page := range pages(t) {
		for _, title := range missingPanels(t, readFile(t, page)) {
			t.Errorf("%s: got the panel %q, which its dashboard does not have", page, title)
		}
	}
	if got := missingPanels(t, "*Overview → Offered*, *Limits → Offered*"); len(got) != 1 {
		t.Errorf("a page with a panel that does not exist: got %q want one", got)
	}
}

func TestNamesAndLinksFindMistakes(t *testing.T) {
	page := "Use `throttle.Do`, `bucket.Never` and `Config.Classifier`, and `rate.Allow`.\n" +
		"<!-- bucket.None -->\n\n| x | Spillway | y |\n|---|---|---|\n| `backoff.Retry` | `backoff.Do` | `Limiter.Reserve` |\n\n`backoff.Permanent`\n"
	missing, all := unknown(exported(t), prose(page))
	if want := []string{"bucket.Never", "Config.Classifier", "Limiter.Reserve", "backoff.Permanent"}; !slices.Equal(missing, want) || all != 6 {
		t.Errorf("names: got %q of %d want %q of 6", missing, all, want)
	}
	page = "[a](README.md) [b](READYOU.md) `f(x)[0](y)` [c](CONTRIBUTING.md#commits) [d](CONTRIBUTING.md#comits) [e](https://go.dev)"
	var broken []string
	for _, target := range links(page) {
		if brokenLink("README.md", target) != "" {
			broken = append(broken, target)
		}
	}
	if want := []string{"READYOU.md", "CONTRIBUTING.md#comits"}; !slices.Equal(broken, want) {
		t.Errorf("links: got %q want %q", broken, want)
	}
}
