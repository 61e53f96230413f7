package spillway_test

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"regexp"
	"strings"
	"testing"
)

// sources returns the lines of each function of the files, and of what each example prints.
func sources(t *testing.T, files []string) (code, outputs [][]string) {
	t.Helper()
	for _, name := range files {
		text := readFile(t, name)
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, name, text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok {
				continue
			}
			whole := text[fset.Position(f.Pos()).Offset:fset.Position(f.End()).Offset]
			code = append(code, statements(whole))
			if _, output, ok := strings.Cut(whole, "// Output:\n"); ok {
				outputs = append(outputs, statements(strings.ReplaceAll(output, "// ", "")))
			}
		}
	}
	return code, outputs
}

// checkGo wants code that stands in a function of an example, line after line. Runbooks are read in a hurry, so they may leave lines out.
func checkGo(code [][]string) checker {
	return func(b block) string {
		stands := occurs
		if path.Base(b.page) == "runbooks.md" {
			stands = abridged
		}
		for _, function := range code {
			if stands(statements(b.text), function) {
				return ""
			}
		}
		return "got code that is in no function of an example"
	}
}

// checkText wants what an example prints.
func checkText(outputs [][]string) checker {
	return func(b block) string {
		for _, output := range outputs {
			if occurs(statements(b.text), output) {
				return ""
			}
		}
		return "got output that no example has"
	}
}

// configurations returns the lines of our YAML files, without comments.
func configurations(t *testing.T) (found [][]string) {
	t.Helper()
	for _, name := range walk(t, func(name string) bool { return path.Ext(name) == ".yml" || path.Ext(name) == ".yaml" }) {
		found = append(found, statements(withoutComments(readFile(t, name))))
	}
	return found
}

func withoutComments(yaml string) string {
	return regexp.MustCompile(`(?m)(^|\s)#.*$`).ReplaceAllString(yaml, "")
}

// checkYAML wants lines that stand in their order in one of our files, though others may be left out.
func checkYAML(files [][]string) checker {
	return func(b block) string {
		for _, file := range files {
			if abridged(statements(withoutComments(b.text)), file) {
				return ""
			}
		}
		return "got YAML that is not out of one of our files"
	}
}

// expressions are those of our dashboards and rules, which are run in tests, without space.
func expressions(t *testing.T) (all []string) {
	t.Helper()
	for _, name := range walk(t, func(name string) bool { return path.Dir(name) == "dashboards" && path.Ext(name) == ".json" }) {
		for _, quoted := range regexp.MustCompile(`"expr": (".*")`).FindAllStringSubmatch(readFile(t, name), -1) {
			var expression string
			if err := json.Unmarshal([]byte(quoted[1]), &expression); err != nil {
				t.Fatal(err)
			}
			all = append(all, plain(expression))
		}
	}
	for _, name := range []string{"dashboards/rules/recording.yml", "dashboards/rules/alerts.yml"} {
		all = append(all, ruled(readFile(t, name))...)
	}
	return all
}

// ruled returns the expressions of a file of rules: those of a line, and those that are a block of lines that are further in.
func ruled(yaml string) (all []string) {
	indent, inside := 0, false
	for line := range strings.Lines(yaml) {
		before, expression, begins := strings.Cut(line, "expr:")
		depth := len(line) - len(strings.TrimLeft(line, " "))
		switch inside = inside && depth > indent; {
		case begins && strings.Trim(before, " -") == "":
			inside, indent = true, len(before)
			all = append(all, plain(strings.TrimPrefix(strings.TrimSpace(expression), "|")))
		case inside:
			all[len(all)-1] += plain(line)
		}
	}
	return all
}

// plain is an expression without space, and without what only Grafana knows: variables match everything, and rates are over five minutes.
func plain(expression string) string {
	expression = regexp.MustCompile("\\w+=~(?:\"[^\"]*\\$[^\"]*\"|`[^`]*\\$[^`]*`),?").ReplaceAllString(expression, "")
	expression = strings.NewReplacer("$__rate_interval", "5m", ",}", "}", "{}", "").Replace(expression)
	return strings.Join(strings.Fields(expression), "")
}

// checkPromQL wants an expression of a dashboard or a rule.
func checkPromQL(all []string) checker {
	return func(b block) string {
		for _, expression := range all {
			if plain(b.text) == expression {
				return ""
			}
		}
		return "got an expression that no dashboard and no rule has"
	}
}

// checkSQL wants the names of tables that the stores make, whose statements have a name in braces for each.
func checkSQL(schemas string) checker {
	return func(b block) string {
		for _, table := range regexp.MustCompile(`\bspillway_(\w+)`).FindAllStringSubmatch(b.text, -1) {
			if !strings.Contains(schemas, "CREATE TABLE IF NOT EXISTS {"+table[1]+"}") {
				return "got a table that no store makes: " + table[0]
			}
		}
		return ""
	}
}

// checkUntagged takes a block without a language for what a program printed, unless it begins with a command.
func checkUntagged(b block) string {
	if first := words(b.text); len(first) > 0 && isCommand(first[0]) {
		return checkCommands(b)
	}
	return ""
}
