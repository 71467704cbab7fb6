package permission

import (
	"fmt"
	"slices"
	"strings"
)

// versionFlags are the options by which a well-known tool tells its version and
// does nothing else; none for others. Tools that look into the project to find
// out which version of themselves to run, or to run a file of it, are not among
// them (yarn, pnpm, bundle, dotnet, gradle, mvn, and pytest, which loads conftest.py).
func versionFlags(name string) []string {
	switch name {
	case "node", "npm":
		return []string{"--version", "-v"}
	case "python", "python2", "python3", "pip", "pip3", "make", "gmake":
		return []string{"--version", "-V"}
	case "ruby", "perl", "php", "gcc", "g++", "clang", "clang++", "cc", "c++":
		return []string{"--version", "-v"}
	case "java", "javac":
		return []string{"--version", "-version"}
	case "git", "cargo", "rustc", "rustup", "gem", "cmake", "ninja", "docker", "podman", "deno", "curl", "wget", "jq", "tmux", "vim", "nvim",
		"gh", "psql", "mysql", "sqlite3", "ffmpeg", "pandoc", "ghc", "ocaml", "lua", "Rscript", "julia", "swift", "zig", "uv", "ruff", "black",
		"gofmt", "gopls", "staticcheck", "shellcheck", "hadolint", "helm", "tree", "awk", "gawk", "xargs":
		return []string{"--version"}
	}
	if r, ok := readingOf(name); ok && !shellBuiltin(name) && r.check == nil && !r.pathless {
		return []string{"--version", "--help"}
	}
	return nil
}

// tellsVersion reports whether a command does nothing but tell its version.
func tellsVersion(s simple) bool {
	return len(s.words) == 2 && s.words[1].known && !s.words[1].glob && slices.Contains(versionFlags(s.name()), s.words[1].text)
}

// findCommand is findReads for a command.
func (p *Policy) findCommand(s simple) (ok bool, why string) {
	why = p.findReads(s.dirs, plain(s.words[1:]))
	return why == "", why
}

// aloneReads takes a command without words.
func (p *Policy) aloneReads(s simple) (ok bool, why string) {
	if len(s.words) > 1 {
		return false, s.name() + " with " + s.words[1].text + " is not known to do nothing but read"
	}
	return true, ""
}

// printfReads takes a format that only prints. Shells differ in whether they
// evaluate what they are given as a number, so it must be one.
func (p *Policy) printfReads(s simple) (ok bool, why string) {
	words := s.words[1:]
	if len(words) > 0 && words[0].known && words[0].text == "--" {
		words = words[1:]
	}
	if len(words) == 0 {
		return true, ""
	}
	if !words[0].known {
		return false, "the format of printf, " + words[0].text + ", is not known before it runs"
	}
	numbers, ok := printfTame(words[0].text)
	if !ok {
		return false, "the format of printf, " + words[0].text + ", can do more than print"
	}
	for _, w := range words[1:] {
		switch {
		case !w.known && (!w.single || numbers):
			return false, fmt.Sprintf("the value of %s is not known before printf runs", w.text)
		case w.known && numbers && !number(w.text):
			return false, fmt.Sprintf("printf takes %s for a number, which some shells evaluate", w.text)
		}
	}
	return true, ""
}

// printfTame reports whether a format only prints; numbers says that it prints
// an argument as a number.
func printfTame(format string) (numbers, ok bool) {
	if isOption(format) {
		return false, false
	}
	for {
		_, rest, found := strings.Cut(format, "%")
		if !found {
			return numbers, true
		}
		verb := strings.TrimLeft(rest, "0123456789.#+-' ")
		switch {
		case verb == "":
			return numbers, true
		case strings.Contains("sbqc%", verb[:1]):
		case strings.Contains("diouxXeEfFgGaA", verb[:1]):
			numbers = true
		default: // %n, %*d, %(…)T, lengths
			return numbers, false
		}
		format = verb[1:]
	}
}

// number reports whether a text is a plain decimal number.
func number(text string) bool {
	text = strings.TrimPrefix(text, "-")
	whole, part, _ := strings.Cut(text, ".")
	return whole != "" && strings.Trim(whole+part, "0123456789") == ""
}

// testReads takes the tests of files and texts. A subscript, in a name or in
// what is compared as a number, can hold commands, which shells run.
func (p *Policy) testReads(s simple) (ok bool, why string) {
	name, words := s.name(), s.words[1:]
	if end := map[string]string{"[": "]", "[[": "]]"}[name]; end != "" {
		if len(words) == 0 || words[len(words)-1].text != end {
			return false, name + " has no " + end
		}
		words = words[:len(words)-1]
	}
	for i, w := range words {
		before, after := word{}, word{}
		if i > 0 {
			before = words[i-1]
		}
		if i+1 < len(words) {
			after = words[i+1]
		}
		if !w.known {
			if !w.single && name != "[[" {
				return false, "the value of " + w.text + " is not known before " + name + " looks at it"
			}
			continue
		}
		if why := p.testOperator(s, w.text, before, after); why != "" {
			return false, why
		}
	}
	return true, ""
}

// testOperator judges a word of a test that may be an operator, with the words
// around it.
func (p *Policy) testOperator(s simple, text string, before, after word) (why string) {
	files := []word{}
	switch text {
	case "-eq", "-ne", "-lt", "-le", "-gt", "-ge":
		for _, w := range []word{before, after} {
			if !numeric(w) {
				return "what " + s.name() + " compares as a number, " + w.text + ", is none that is known beforehand"
			}
		}
	case "-nt", "-ot", "-ef":
		files = append(files, before, after)
	case "-e", "-f", "-d", "-r", "-w", "-x", "-s", "-L", "-h", "-b", "-c", "-p", "-S", "-g", "-u", "-k", "-O", "-G", "-N":
		files = append(files, after)
	case "-z", "-n", "-a", "-o", "!", "=", "==", "!=", "&&", "||", "=~", "<", ">", "(", ")":
		if text == "-a" || text == "-o" {
			break
		}
	default:
		if isOption(text) && !number(text) && len(text) < 4 {
			return "what " + s.name() + " does with " + text + " may be more than to look"
		}
	}
	for _, f := range files {
		if !f.known {
			return "the file that " + s.name() + " looks at, " + f.text + ", is not known beforehand"
		}
		if why := p.mayReadNames(s.dirs, f.text); why != "" {
			return why
		}
	}
	return ""
}

// numeric reports whether a word of a test is surely a number.
func numeric(w word) bool {
	if w.known {
		return number(w.text)
	}
	return w.single && slices.Contains([]string{"$?", `"$?"`, "$#", `"$#"`, "$$", `"$$"`, "${?}", "${#}"}, w.text)
}

// dateReads takes a date that is told, not set.
func (p *Policy) dateReads(s simple) (ok bool, why string) {
	r := reading{flags: "uRjn", values: "d", files: "r", long: "utc universal rfc-email rfc-3339= iso-8601? date= reference=@"}
	words := plain(s.words[1:])
	words = slices.DeleteFunc(words, func(w string) bool {
		return w == "-I" || w == "-Idate" || w == "-Iseconds" || w == "-Iminutes" || w == "-Ihours" || w == "-Ins"
	})
	o, bad := r.options(words)
	if bad != "" {
		return false, "the option " + bad + " of date may set it"
	}
	for _, w := range o.operands {
		if !strings.HasPrefix(w, "+") {
			return false, "date would be set to " + w
		}
	}
	for _, f := range o.files {
		if why := p.mayRead(s.dirs, f, false); why != "" {
			return false, why
		}
	}
	return true, ""
}

// printenvReads takes variables that hold nothing to hide.
func (p *Policy) printenvReads(s simple) (ok bool, why string) {
	if len(s.words) == 1 {
		return false, "printenv tells every variable"
	}
	for _, w := range s.words[1:] {
		if !harmlessVariable(w.text) {
			return false, "the variable " + w.text + " may hold what is to be kept"
		}
	}
	return true, ""
}

// harmlessVariable reports whether what a variable of the environment holds may
// be told, and whether it never changes what a command means.
func harmlessVariable(name string) bool {
	switch name {
	case "HOME", "PATH", "PWD", "OLDPWD", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "LC_CTYPE", "TERM", "EDITOR", "VISUAL", "PAGER", "TMPDIR",
		"GOPATH", "GOROOT", "GOOS", "GOARCH", "GOBIN", "GOFLAGS", "CGO_ENABLED", "HOSTNAME", "HOSTTYPE", "OSTYPE", "MACHTYPE", "UID", "EUID", "PPID",
		"RANDOM", "SECONDS", "LINENO", "BASH", "BASH_VERSION", "ZSH_VERSION", "SHLVL", "COLUMNS", "LINES", "NODE_ENV", "NODE_PATH", "PYTHONPATH",
		"VIRTUAL_ENV", "CONDA_PREFIX", "CONDA_DEFAULT_ENV", "JAVA_HOME", "CARGO_HOME", "RUSTUP_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME",
		"XDG_CACHE_HOME", "XDG_RUNTIME_DIR", "DISPLAY", "WAYLAND_DISPLAY", "TZ", "CI", "CC", "CXX", "CFLAGS", "CXXFLAGS", "LDFLAGS", "MAKEFLAGS",
		"LD_LIBRARY_PATH", "PKG_CONFIG_PATH", "KUBECONFIG", "DOCKER_HOST", "?", "$", "#", "!", "0", "-":
		return true
	}
	return false
}

// manReads takes the names of manual pages.
func (p *Policy) manReads(s simple) (ok bool, why string) {
	for _, w := range s.words[1:] {
		if w.text == "" || isOption(w.text) || strings.Trim(w.text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.+") != "" {
			return false, w.text + " is not the plain name of a manual page"
		}
	}
	return true, ""
}

// goReads takes the parts of the go command that tell what there is. It may
// fetch modules and toolchains, and ask git, as the project's files tell it.
func (p *Policy) goReads(s simple) (ok bool, why string) {
	if len(s.words) < 2 {
		return false, ""
	}
	words := plain(s.words[2:])
	var r reading
	switch s.words[1].text {
	case "version":
		r = reading{operands: -1}
	case "env":
		r = reading{long: "json"}
		words = slices.DeleteFunc(words, func(w string) bool { return w == "-json" })
	case "list":
		r = reading{values: "f"}
		words = slices.DeleteFunc(words, func(w string) bool { return w == "-json" || w == "-find" || w == "-e" })
	case "doc":
		words = slices.DeleteFunc(words, func(w string) bool { return w == "-all" || w == "-short" || w == "-src" || w == "-u" || w == "-c" })
	default:
		return false, ""
	}
	o, bad := r.options(words)
	if bad != "" {
		return false, "the option " + bad + " of go " + s.words[1].text + " is not one that is known to do nothing but read"
	}
	for _, w := range o.operands {
		if r.operands < 0 || strings.Contains(w, "=") || strings.Contains(w, "@") {
			return false, "go " + s.words[1].text + " " + w + " may do more than read"
		}
		if strings.ContainsAny(w, "./") && s.words[1].text != "env" {
			if why := p.mayReadNames(s.dirs, strings.TrimSuffix(w, "/...")); why != "" {
				return false, why
			}
		}
	}
	for _, dir := range s.dirs {
		if p.GoFetches == nil {
			continue
		}
		if err := p.GoFetches(dir, s.words[1].text); err != nil {
			return false, err.Error()
		}
	}
	return true, ""
}
