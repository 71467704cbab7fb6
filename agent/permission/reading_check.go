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
	case "find":
		why = p.findReads(s.dirs, words)
	case "printf", "test", "[", "[[":
		why = p.evaluates(s)
	case "date":
		why = dateReads(words)
	case "printenv":
		why = printenvReads(words)
	default:
		if len(words) > 0 {
			why = s.name() + " with " + words[0] + " is not known to do nothing but read"
		}
	}
	return why == "", why
}

// evaluates says which word of printf or test a shell could run as code: subscripts,
// what is compared or printed as a number, and options that set variables.
func (p *Policy) evaluates(s simple) (why string) {
	for i, w := range s.words[1:] {
		text := w.text
		switch {
		case !w.known && !w.single, i == 0 && !w.known && s.name() == "printf":
			return "the value of " + text + " is not known before " + s.name() + " runs"
		case w.known && strings.ContainsAny(text, "[") && strings.ContainsAny(text, "$`"),
			listed("-v -R -o -eq -ne -lt -le -gt -ge", text) && s.name() != "printf",
			s.name() == "printf" && i == 0 && (isOption(text) || printsNumbers(text)):
			return s.name() + " may evaluate " + text
		case s.name() != "printf" && strings.Contains(text, "/") && i > 0 && isOption(s.words[i].text):
			if why := p.mayReadNames(s.dirs, text); why != "" {
				return why
			}
		}
	}
	return ""
}

// printsNumbers reports whether a format of printf has a conversion other than of text.
func printsNumbers(format string) bool {
	for _, part := range strings.Split(strings.ReplaceAll(format, "%%", ""), "%")[1:] {
		verb := strings.TrimLeft(part, "0123456789.-")
		if verb == "" || !strings.Contains("sbqc", verb[:1]) {
			return true
		}
	}
	return false
}

// dateReads takes a date that is shown, not set.
func dateReads(words []string) (why string) {
	for i, w := range words {
		option := isOption(w) && !haveOption([]string{w}, "-s --set -f --file")
		if !option && !strings.HasPrefix(w, "+") && !(i > 0 && listed("-d --date -r", words[i-1])) {
			return "date with " + w + " is not known to do nothing but read"
		}
	}
	return ""
}

// without are the words except those of a list.
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
