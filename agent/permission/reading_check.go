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
func (p *Policy) judge(s simple, r reading) (ok bool, why string) {
	words := plain(s.words[1:])
	switch s.name() {
	case "git":
		return p.gitReads(s.dirs, words)
	}
	for _, w := range words {
		odd := strings.Contains(w, "[") && strings.ContainsAny(w, "$`") || s.name() == "date" && !strings.HasPrefix(w, "+") && !listed("-u -R -I", w)
		if r.not == "" || listed(r.not, w) || strings.HasPrefix(w, "--") || odd {
			return false, s.name() + " with " + w + " is not known to do nothing but read"
		}
		if !isOption(w) && w != "" {
			if why := p.World.mayRead(s.dirs, w, false); why != "" {
				return false, why
			}
		}
	}
	return true, ""
}

// without are the words except those of a list.
func without(words []string, list string) []string {
	return slices.DeleteFunc(slices.Clone(words), func(w string) bool { return listed(list, w) })
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
