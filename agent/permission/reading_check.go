package permission

import (
	"slices"
	"strings"
)

// versionFlags are the options by which a well-known tool tells its version and
// does nothing else; none for others. Tools that look into the project to find
// out which version of themselves to run, or to run a file of it, are not among
// them (yarn, pnpm, bundle, dotnet, gradle, mvn, and pytest, which loads conftest.py).
func versionFlags(name string) string {
	for _, row := range []struct{ flags, names string }{
		{"--version -v", "node npm ruby perl php gcc g++ clang clang++ cc c++"},
		{"--version -V", "python python2 python3 pip pip3 make gmake"},
		{"--version -version", "java javac"},
		{"--version", `git cargo rustc rustup gem cmake ninja docker podman deno curl wget jq tmux vim nvim
			gh psql mysql sqlite3 ffmpeg pandoc ghc ocaml lua Rscript julia swift zig uv ruff black
			gofmt gopls staticcheck shellcheck hadolint helm tree awk gawk xargs`},
	} {
		if listed(row.names, name) {
			return row.flags
		}
	}
	if r, ok := readingOf(name); ok && !shellBuiltin(name) && !r.has(special|pathless) {
		return "--version --help"
	}
	return ""
}

// tellsVersion reports whether a command does nothing but tell its version.
func tellsVersion(s simple) bool {
	return len(s.words) == 2 && s.words[1].known && !s.words[1].glob && listed(versionFlags(s.name()), s.words[1].text)
}

// judge judges a reading command whose words are more than options and files. ok
// says that it only reads, why what is in the way; neither, that it is not of the
// reading kind at all.
func (p *Policy) judge(s simple) (ok bool, why string) {
	words := plain(s.words[1:])
	switch s.name() {
	case "git":
		return p.gitReads(s.dirs, words)
	case "go":
		return p.goReads(s)
	case "find":
		why = p.findReads(s.dirs, words)
	case "sed":
		why = p.sedReads(s)
	case "printf":
		why = printfReads(s.words[1:])
	case "test", "[", "[[":
		why = p.testReads(s)
	case "date":
		why = p.dateReads(s.dirs, words)
	case "printenv":
		why = printenvReads(words)
	case "man":
		why = manReads(words)
	default:
		if len(words) > 0 {
			why = s.name() + " with " + words[0] + " is not known to do nothing but read"
		}
	}
	return why == "", why
}

// printfReads takes a format that only prints. Shells differ in whether they
// evaluate what they are given as a number, so it must be one.
func printfReads(words []word) (why string) {
	if len(words) > 0 && words[0].known && words[0].text == "--" {
		words = words[1:]
	}
	if len(words) == 0 {
		return ""
	}
	format := words[0]
	if !format.known {
		return "the format of printf, " + format.text + ", is not known before it runs"
	}
	counts, ok := printfTame(format.text)
	if !ok {
		return "the format of printf, " + format.text + ", can do more than print"
	}
	for _, w := range words[1:] {
		switch {
		case !w.known && (!w.single || counts):
			return "the value of " + w.text + " is not known before printf runs"
		case w.known && counts && !number(w.text):
			return "printf takes " + w.text + " for a number, which some shells evaluate"
		}
	}
	return ""
}

// printfTame reports whether a format only prints; counts says that it prints an
// argument as a number.
func printfTame(format string) (counts, ok bool) {
	if isOption(format) {
		return false, false
	}
	for {
		_, rest, found := strings.Cut(format, "%")
		verb := strings.TrimLeft(rest, "0123456789.#+-' ")
		switch {
		case !found, verb == "":
			return counts, true
		case strings.Contains("sbqc%", verb[:1]):
		case strings.Contains("diouxXeEfFgGaA", verb[:1]):
			counts = true
		default: // %n, %*d, %(…)T, lengths
			return counts, false
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
func (p *Policy) testReads(s simple) (why string) {
	name, words := s.name(), s.words[1:]
	if end := map[string]string{"[": "]", "[[": "]]"}[name]; end != "" {
		if len(words) == 0 || words[len(words)-1].text != end {
			return name + " has no " + end
		}
		words = words[:len(words)-1]
	}
	around := append(append([]word{{}}, words...), word{}) // words[i] is around[i+1]
	for i, w := range words {
		if w.known {
			why = p.testOperator(s, w.text, around[i], around[i+2])
		} else if !w.single && name != "[[" {
			why = "the value of " + w.text + " is not known before " + name + " looks at it"
		}
		if why != "" {
			return why
		}
	}
	return ""
}

// testOperator judges a word of a test that may be an operator, with the words
// around it.
func (p *Policy) testOperator(s simple, text string, before, after word) (why string) {
	var files []word
	switch {
	case listed("-eq -ne -lt -le -gt -ge", text):
		for _, w := range []word{before, after} {
			if !numeric(w) {
				return "what " + s.name() + " compares as a number, " + w.text + ", is none that is known beforehand"
			}
		}
	case listed("-nt -ot -ef", text):
		files = []word{before, after}
	case listed("-e -f -d -r -w -x -s -L -h -b -c -p -S -g -u -k -O -G -N", text):
		files = []word{after}
	case !listed("-z -n -a -o", text) && isOption(text) && !number(text) && len(text) < 4:
		return "what " + s.name() + " does with " + text + " may be more than to look"
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
	return w.single && listed(`$? "$?" $# "$#" $$ "$$" ${?} ${#}`, w.text)
}

// dateReads takes a date that is told, not set.
func (p *Policy) dateReads(dirs, words []string) (why string) {
	r := reading{flags: "uRjn", values: "d", files: "r",
		long: "utc universal rfc-email rfc-3339= iso-8601? date= reference=@"}
	o, bad := r.options(without(words, "-I -Idate -Iseconds -Iminutes -Ihours -Ins"))
	if bad != "" {
		return "the option " + bad + " of date may set it"
	}
	for _, w := range o.operands {
		if !strings.HasPrefix(w, "+") {
			return "date would be set to " + w
		}
	}
	for _, f := range o.files {
		if why := p.mayRead(dirs, f, false); why != "" {
			return why
		}
	}
	return ""
}

// without are words but for those of a list.
func without(words []string, list string) []string {
	return slices.DeleteFunc(slices.Clone(words), func(w string) bool { return listed(list, w) })
}

// printenvReads takes variables that hold nothing to hide.
func printenvReads(words []string) (why string) {
	if len(words) == 0 {
		return "printenv tells every variable"
	}
	for _, w := range words {
		if !publicVariable(w) {
			return "the variable " + w + " may hold what is to be kept"
		}
	}
	return ""
}

// publicVariable reports whether what a variable of the environment holds may be
// told, and whether it never changes what a command means.
func publicVariable(name string) bool {
	return listed(`HOME PATH PWD OLDPWD USER LOGNAME SHELL LANG LC_ALL LC_CTYPE TERM EDITOR VISUAL PAGER TMPDIR
		GOPATH GOROOT GOOS GOARCH GOBIN GOFLAGS CGO_ENABLED HOSTNAME HOSTTYPE OSTYPE MACHTYPE UID EUID PPID
		RANDOM SECONDS LINENO BASH BASH_VERSION ZSH_VERSION SHLVL COLUMNS LINES NODE_ENV NODE_PATH PYTHONPATH
		VIRTUAL_ENV CONDA_PREFIX CONDA_DEFAULT_ENV JAVA_HOME CARGO_HOME RUSTUP_HOME XDG_CONFIG_HOME XDG_DATA_HOME
		XDG_CACHE_HOME XDG_RUNTIME_DIR DISPLAY WAYLAND_DISPLAY TZ CI CC CXX CFLAGS CXXFLAGS LDFLAGS MAKEFLAGS
		LD_LIBRARY_PATH PKG_CONFIG_PATH KUBECONFIG DOCKER_HOST ? $ # ! 0 -`, name)
}

// manReads takes the names of manual pages.
func manReads(words []string) (why string) {
	for _, w := range words {
		if w == "" || isOption(w) || strings.Trim(w, letterCharacters+"0123456789_-.+") != "" {
			return w + " is not the plain name of a manual page"
		}
	}
	return ""
}

// goReads takes the parts of the go command that tell what there is. It may
// fetch modules and toolchains, and ask git, as the project's files tell it.
func (p *Policy) goReads(s simple) (ok bool, why string) {
	if len(s.words) < 2 {
		return false, ""
	}
	sub, words := s.words[1].text, plain(s.words[2:])
	var r reading
	switch sub {
	case "version":
		r = reading{operands: -1}
	case "env":
		r, words = reading{long: "json"}, without(words, "-json")
	case "list":
		r, words = reading{values: "f"}, without(words, "-json -find -e")
	case "doc":
		words = without(words, "-all -short -src -u -c")
	default:
		return false, ""
	}
	o, bad := r.options(words)
	if bad != "" {
		return false, "the option " + bad + " of go " + sub + " is not one that is known to do nothing but read"
	}
	for _, w := range o.operands {
		if r.operands < 0 || strings.ContainsAny(w, "=@") {
			return false, "go " + sub + " " + w + " may do more than read"
		}
		if strings.ContainsAny(w, "./") && sub != "env" {
			if why := p.mayReadNames(s.dirs, strings.TrimSuffix(w, "/...")); why != "" {
				return false, why
			}
		}
	}
	for _, dir := range s.dirs {
		if p.GoFetches == nil {
			break
		}
		if err := p.GoFetches(dir, sub); err != nil {
			return false, err.Error()
		}
	}
	return true, ""
}
