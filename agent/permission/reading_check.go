package permission

import (
	"slices"
	"strings"

	"artoo/agent/permission/line"
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
		if line.In(row.names, name) {
			return row.flags
		}
	}
	if r, ok := readingOf(name); ok && !shellBuiltin(name) && !r.has(special|pathless) {
		return "--version --help"
	}
	return ""
}

// tellsVersion reports whether a command does nothing but tell its version.
func tellsVersion(s line.Command) bool {
	return len(s.Words) == 2 && s.Words[1].Known && !s.Words[1].Glob && line.In(versionFlags(s.Name()), s.Words[1].Text)
}

// judge judges a reading command whose words are more than options and files. ok
// says that it only reads, why what is in the way; neither, that it is not of the
// reading kind at all.
func (p *Policy) judge(s line.Command, r reading) (ok bool, why string) {
	words := line.Texts(s.Words[1:])
	switch s.Name() {
	case "git":
		return p.gitReads(s.Dirs, words)
	}
	for _, w := range words {
		odd := strings.Contains(w, "[") && strings.ContainsAny(w, "$`") || s.Name() == "date" && !strings.HasPrefix(w, "+") && !line.In("-u -R -I", w)
		if r.not == "" || line.In(r.not, w) || strings.HasPrefix(w, "--") || odd {
			return false, s.Name() + " with " + w + " is not known to do nothing but read"
		}
		if !line.IsOption(w) && w != "" {
			if why := p.World.mayRead(s.Dirs, w, false); why != "" {
				return false, why
			}
		}
	}
	return true, ""
}

// without are the words except those of a list.
func without(words []string, list string) []string {
	return slices.DeleteFunc(slices.Clone(words), func(w string) bool { return line.In(list, w) })
}
