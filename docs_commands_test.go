package spillway_test

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// isCommand reports whether a word begins a command that a page may show.
func isCommand(word string) bool {
	return slices.Contains([]string{"go", "make", "docker", "promtool", "kubectl", "sed", "git", "cd", "(cd"}, word)
}

// checkCommands wants lines of commands that can be run in the repository: what they name must be there.
func checkCommands(b block) string {
	for line := range strings.Lines(b.text) {
		line, _, _ = strings.Cut(" "+line, " #")
		line = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(line), "("), ")")
		dir := "."
		for command := range strings.SplitSeq(line, "&&") {
			args := words(command)
			for len(args) > 0 && regexp.MustCompile(`^[A-Z_]+=`).MatchString(args[0]) {
				args = args[1:] // variables of the environment
			}
			switch {
			case len(args) == 2 && args[0] == "cd" && args[1] == path.Base(module): // after a clone
			case len(args) == 2 && args[0] == "cd":
				dir = path.Join(dir, args[1])
			case len(args) > 0:
				if complaint := checkCommand(dir, args); complaint != "" {
					return complaint + ": " + strings.TrimSpace(line)
				}
			}
		}
	}
	return ""
}

// words splits a command as a shell does, as far as we write any.
func words(command string) (all []string) {
	for _, word := range regexp.MustCompile(`'[^']*'|"[^"]*"|[^\s'"]+`).FindAllString(command, -1) {
		all = append(all, strings.Trim(word, `'"`))
	}
	return all
}

// checkCommand says what a command names that is not there.
func checkCommand(dir string, args []string) string {
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return "got a folder that does not exist, " + dir
	}
	switch args[0] {
	case "go":
		return checkGoCommand(dir, args[1:])
	case "make":
		makefile, _ := os.ReadFile("Makefile") // without one there is no target
		for _, target := range args[1:] {
			if !regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(target) + `:`).Match(makefile) {
				return "got no target " + target
			}
		}
	case "docker":
		if args[1] != "compose" || !exists("docker-compose.yml") {
			return "got docker without compose"
		}
	case "promtool", "kubectl":
		return checkPaths(dir, args[1:])
	case "sed":
		script := slices.IndexFunc(args[1:], func(arg string) bool { return !strings.HasPrefix(arg, "-") })
		return checkPaths(dir, args[script+2:])
	case "git":
		if len(args) != 3 || args[1] != "clone" || args[2] != "https://"+module {
			return "got another use of git than to clone " + module
		}
	default:
		return "got a command that this test does not know"
	}
	return ""
}

// checkPaths wants files for those arguments that are paths.
func checkPaths(dir string, args []string) string {
	for _, arg := range args {
		if strings.Contains(arg, "/") && !strings.HasPrefix(arg, "-") && !exists(path.Join(dir, arg)) {
			return "got no file " + arg
		}
	}
	return ""
}

// exists reports whether a path, or a pattern of some, leads somewhere.
func exists(pattern string) bool {
	found, err := filepath.Glob(pattern)
	return err == nil && len(found) > 0
}

// checkGoCommand wants the folders that the go command is given, the tests that it is to run, and the flags that a program is given.
func checkGoCommand(dir string, args []string) string {
	if len(args) == 0 || !slices.Contains([]string{"run", "test", "get", "generate", "build", "vet", "doc"}, args[0]) {
		return "got a use of go that this test does not know"
	}
	target := slices.IndexFunc(args, func(arg string) bool { return strings.HasPrefix(arg, ".") })
	switch {
	case args[0] == "get":
		return checkModules(args[1:])
	case target < 0:
		return "got no package"
	}
	folder := path.Join(dir, strings.TrimSuffix(args[target], "..."))
	if !exists(path.Join(folder, "*")) {
		return "got no folder " + folder
	}
	if args[0] == "run" {
		return checkFlags(folder, args[target+1:])
	}
	return checkTests(folder, args[1:target])
}

// checkModules wants modules of ours.
func checkModules(paths []string) string {
	for _, name := range paths {
		folder := "." + strings.TrimPrefix(name, module)
		if folder == "."+name || !exists(path.Join(folder, "go.mod")) {
			return "got a module that is not ours, " + name
		}
	}
	return ""
}

// checkFlags wants flags whose names stand in the program.
func checkFlags(folder string, args []string) string {
	text := read(folder, "*.go")
	for _, arg := range args {
		name, isFlag := strings.CutPrefix(arg, "-")
		name, _, _ = strings.Cut(name, "=")
		if isFlag && name != "h" && !strings.Contains(text, `"`+name+`"`) {
			return "got a flag that the program does not have, " + arg
		}
	}
	return ""
}

// checkTests wants functions for the names of tests and benchmarks.
func checkTests(folder string, args []string) string {
	text := read(folder, "*_test.go")
	for _, arg := range args {
		for _, name := range regexp.MustCompile(`\b(?:Test|Benchmark|Example)\w+`).FindAllString(arg, -1) {
			if !strings.Contains(text, "func "+name) {
				return "got a test that is not there, " + name
			}
		}
	}
	return ""
}

// read returns the texts of the files of a folder. One that cannot be read has none.
func read(folder, pattern string) string {
	var all strings.Builder
	files, _ := filepath.Glob(path.Join(folder, pattern)) // the patterns are ours
	for _, name := range files {
		text, _ := os.ReadFile(name)
		all.Write(text)
	}
	return all.String()
}
