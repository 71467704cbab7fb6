package permission

import (
	"slices"
	"strings"

	"artoo/agent/permission/line"
	facts "artoo/tool/project"
)

func (p *Policy) inspector() inspector { return inspector{&p.World, p.Root, p.Shell} }

// check reports whether a command only reads, files it may read. why names the obstacle, "" where
// it is no read-only command at all.
func (in inspector) check(s line.Command) (ok bool, why string) {
	name := s.Name()
	r, listed := readOnlyRow(name)
	switch {
	case s.Compound, s.RunsUnknown:
		return false, ""
	case tellsVersion(s):
		if why := in.surroundings(s, readOnly{is: pathless}); why != "" {
			return false, why
		}
		return in.trusted(name, !listed)
	case !listed:
		return false, ""
	}
	why = in.surroundings(s, r)
	for _, w := range s.Words[1:] {
		if why == "" && !w.Known && !(r.has(soft) && w.Harmless) {
			why = "the value of " + w.Text + " is not known before " + name + " runs"
		}
	}
	if why == "" {
		why = in.globsRead(s, r)
	}
	if why != "" {
		return false, why
	}
	if ok, why = in.trusted(name, false); !ok {
		return false, why
	}
	switch {
	case r.has(special):
		return in.special(s, r)
	case r.has(wordless) && len(s.Words) > 1:
		return false, name + " with " + s.Words[1].Text + " may do more than read"
	case !r.has(pathless):
		why = in.wordsRead(s.Dirs, r, name, s.Args())
	}
	return why == "", why
}

// surroundings names the part around a command's words that keeps it from being a read-only one.
func (in inspector) surroundings(s line.Command, r readOnly) (why string) {
	name := s.Name()
	switch {
	case len(s.Outputs) > 0:
		return name + " writes its output into a file, " + s.Outputs[0].Text
	case s.UnknownText:
		return "the text that " + name + " is given to read is not known before it runs"
	case s.UnsafeExpansion:
		return "an expansion in the arguments of " + name + " can set variables or run commands"
	case s.SetsVariables:
		return "variables are set for " + name + ", which can change its effect"
	case s.Elevated:
		return name + " runs with more rights than yours"
	case s.TakesArgs:
		return name + " is started by another command, which gives it further arguments"
	case len(s.Dirs) == 0 && (!r.has(pathless) || s.Globs() || len(s.Inputs) > 0):
		return "it is not known in which directory " + name + " runs"
	}
	for _, input := range s.Inputs {
		if !input.Known {
			return "the file that " + name + " reads, " + input.Text + ", is not known before it runs"
		}
		if why := in.mayRead(s.Dirs, input.Text, false); why != "" {
			return name + " would read a file that it may not: " + why
		}
	}
	return ""
}

// trusted reports whether a program is the system's, not the project's; version: and does not look into
// the project to choose its version.
func (in inspector) trusted(name string, version bool) (ok bool, why string) {
	if shellBuiltin(name) {
		return true, ""
	}
	if err := facts.ProgramOf(in.Environ, in.Root, name, version); err != nil {
		return false, err.Error()
	}
	return true, ""
}

// shellBuiltin reports whether shells have this command within them.
func shellBuiltin(name string) bool {
	return line.In("cd pwd echo printf true false : type command test [ [[", name)
}

// globsRead looks at globs, which may become any number of words.
func (in inspector) globsRead(s line.Command, r readOnly) (why string) {
	ended := false
	for i, w := range s.Words {
		if i == 0 && w.Glob {
			return "which program " + w.Text + " stands for is not known before it runs"
		}
		if w.Glob {
			switch {
			case r.has(globless) || r.operands > 0:
				return "the pattern " + w.Text + " may stand for several words, of which " + s.Name() +
					" could take one for something else than a file to read"
			case r.has(risky) && !ended && strings.IndexAny(w.Text, "*?[-") == 0:
				return "the pattern " + w.Text + " may stand for an option of " + s.Name() + ": write ./" + w.Text
			case in.Shell.Kind() != "bash" && strings.Contains(w.Text, "**"):
				return "the meaning of " + w.Text + " differs from shell to shell"
			}
			if why := in.mayRead(s.Dirs, w.Text, false); why != "" {
				return why
			}
		}
		ended = ended || w.Text == "--"
	}
	return ""
}

// wordsRead judges the words of a read-only command by its options.
func (in inspector) wordsRead(dirs []string, r readOnly, name string, words []string) (why string) {
	o, bad := r.options(words)
	if bad != "" {
		return name + " " + bad + " can write, run programs or read elsewhere"
	}
	if r.operands > 0 && len(o.operands) > r.operands {
		return name + " would write into " + o.operands[r.operands] + ", or do more than read"
	}
	if n := len(words); r.has(optionsFirst) && len(o.operands) > 0 && words[n-1] != o.operands[len(o.operands)-1] {
		return name + " would write into " + words[n-1] + ": its options stand before the file"
	}
	places := o.operands
	if r.has(patternFirst) && !o.given && len(places) > 0 {
		places = places[1:]
	}
	if o.recursive && len(places) <= o.doubts {
		places = append(slices.Clone(places), ".")
	}
	for _, f := range append(o.files, places...) {
		if why := in.mayRead(dirs, f, o.recursive); why != "" {
			return why
		}
	}
	return ""
}

// versionFlags are the options by which a well-known tool only prints its version. Tools that look into
// the project for it (yarn, pnpm, bundle, dotnet, gradle, mvn, pytest) have none.
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
	if r, ok := readOnlyRow(name); ok && !shellBuiltin(name) && !r.has(special|pathless) {
		return "--version --help"
	}
	return ""
}

// tellsVersion reports whether a command does nothing but print its version.
func tellsVersion(s line.Command) bool {
	return len(s.Words) == 2 && s.Words[1].Known && !s.Words[1].Glob && line.In(versionFlags(s.Name()), s.Words[1].Text)
}

// special judges a command whose words are more than options and files.
func (in inspector) special(s line.Command, r readOnly) (ok bool, why string) {
	if s.Name() == "git" {
		return in.gitReads(s.Dirs, s.Args())
	}
	for _, w := range s.Args() {
		subscript := strings.Contains(w, "[") && strings.ContainsAny(w, "$`")
		sets := s.Name() == "date" && !strings.HasPrefix(w, "+") && !line.In("-u -R -I", w)
		if s.Name() == "find" && line.IsOption(w) { // BSD takes clusters, as -XL and -df/etc
			rest := strings.TrimLeft(w[1:], "EHPXdsx")
			sets = strings.HasPrefix(rest, "L") || strings.HasPrefix(rest, "f")
		}
		if line.In(r.not, w) || strings.HasPrefix(w, "--") || subscript || sets {
			return false, s.Name() + " " + w + " may do more than read"
		}
		if !line.IsOption(w) && w != "" {
			if why := in.mayRead(s.Dirs, w, false); why != "" {
				return false, why
			}
		}
	}
	return true, ""
}
