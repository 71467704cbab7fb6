package permission

import (
	"cmp"
	"slices"
	"strings"

	"artoo/agent/permission/line"
	facts "artoo/tool/project"
)

func (p *Policy) inspector() inspector {
	return inspector{&p.World, p.Root, p.Shell, p.Confinement.Layer || p.Confinement.ByEntry}
}

// check reports whether a command only reads, files it may read. why names the obstacle, "" where
// it is no command of the reading table at all.
func (in inspector) check(s line.Command) (ok bool, why string) {
	name := s.Name()
	r, listed := readOnlyRow(name)
	version := tellsVersion(s)
	if !listed && !version || s.Compound || s.RunsUnknown {
		return false, ""
	}
	if why = cmp.Or(plain(s), in.words(s, r)); why == "" {
		_, why = in.trusted(name, version && !listed)
	}
	switch {
	case why != "" || version:
	case name == "git":
		return in.gitReads(s.Dir, s.Args())
	case r.has(wordless) && len(s.Words) > 1:
		why = name + " with " + s.Words[1].Text + " may do more than read"
	default:
		why = in.operands(s, r)
	}
	return why == "", why
}

// around names the part around a command's words that no rule for its words covers, "" for none.
func around(s line.Command) string {
	switch {
	case len(s.Outputs) > 0:
		return "its output goes into " + s.Outputs[0].Text
	case s.Compound, s.RunsUnknown, s.UnsafeExpansion:
		return "it is more than a simple command, and the commands that it runs are not seen"
	}
	return ""
}

// plain is around for a command that nothing else changes either.
func plain(s line.Command) string {
	switch {
	case s.SetsVariables:
		return "variables are set for it, which can change its effect"
	case s.Elevated:
		return "it runs with more rights than yours"
	case s.TakesArgs:
		return "another command starts it, which gives it further arguments"
	case s.UnknownText:
		return "the text that it is given to read is not known before it runs"
	}
	return around(s)
}

// words names what around or in the words of a command keeps it from being one that only reads.
func (in inspector) words(s line.Command, r readOnly) (why string) {
	if s.Dir == "" && !r.has(pathless) {
		return "it is not known in which directory " + s.Name() + " runs"
	}
	for _, w := range slices.Concat(s.Words[1:], s.Inputs) {
		switch {
		case !w.Known && !(r.has(soft) && w.Harmless):
			return "the value of " + w.Text + " is not known before " + s.Name() + " runs"
		case w.Glob && (r.has(globless) || r.has(risky) && strings.IndexAny(w.Text, "*?[-") == 0):
			return "the pattern " + w.Text + " may stand for an option of " + s.Name() + ": write ./" + w.Text
		case w.Glob && in.Shell.Kind() != "bash" && strings.Contains(w.Text, "**"):
			return "the meaning of " + w.Text + " differs from shell to shell"
		case w.Glob:
			why = cmp.Or(why, in.mayRead(s.Dir, w.Text, false))
		}
	}
	if why != "" {
		return why
	}
	for _, input := range s.Inputs {
		if why := in.mayRead(s.Dir, input.Text, false); why != "" {
			return s.Name() + " would read a file that it may not: " + why
		}
	}
	return ""
}

// operands looks at the words of a command: each may be an option, and each may name a file.
func (in inspector) operands(s line.Command, r readOnly) (why string) {
	var files []string
	name, words := s.Name(), s.Args()
	descends, unsure, given := r.recursive == "*", false, !r.has(patternFirst)
	for _, w := range words {
		option, _, valued := strings.Cut(w, "=")
		bsd := name == "find" && line.IsOption(w) && strings.IndexAny(strings.TrimLeft(w[1:], "EHPXdsx"), "Lf") == 0
		switch {
		case bsd, line.In(r.not, w), !r.has(strict) && line.HasOption(w, r.not), strings.HasPrefix(w, "@") && line.In(r.not, "@"):
			return name + " " + w + " can write, run programs or read elsewhere"
		case r.has(strict) && (strings.HasPrefix(w, "--") || strings.Contains(w, "[") && strings.ContainsAny(w, "$`")):
			return name + " " + w + " may do more than read"
		case r.operands > 0 && len(files) == r.operands:
			return name + " would write into " + w + ", or do more than read"
		case line.IsOption(w):
			descends = descends || line.HasOption(option, r.recursive)
			given = given || strings.HasPrefix(w, "--") || strings.ContainsAny(w, "ef")       // an option may give the pattern
			unsure = unsure || !valued && strings.Trim(w[1:], "nrRilLcovwHhsqxEFPSUu0") != "" // the next word may be its value
		default:
			files = append(files, w)
		}
		pattern := !given && !unsure && len(files) == 1 && files[0] == w
		if why := in.mayRead(s.Dir, valueOf(w), false); !r.has(pathless) && !pattern && why != "" {
			return why
		}
	}
	if name == "date" && slices.ContainsFunc(words, func(w string) bool { return !strings.HasPrefix(w, "+") && !line.In("-u -R -I", w) }) {
		return "date with other words than a format may set the clock"
	}
	if !given && !unsure && len(files) > 0 {
		files = files[1:]
	}
	if len(files) == 0 || r.has(patternFirst) && (unsure || given && len(files) < 2) {
		files = append(files, ".")
	}
	for _, file := range files {
		if why = in.mayRead(s.Dir, file, true); descends && why != "" {
			return why
		}
	}
	return ""
}

// trusted reports whether a program is the system's, not the project's; version: and does not look into
// the project to choose its version.
func (in inspector) trusted(name string, version bool) (ok bool, why string) {
	if shellBuiltin(name) && (name != "[[" || in.Shell.Kind() == "bash") {
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
	if r, ok := readOnlyRow(name); ok && !shellBuiltin(name) && !r.has(strict|pathless) {
		return "--version --help"
	}
	return ""
}

// tellsVersion reports whether a command does nothing but print its version.
func tellsVersion(s line.Command) bool {
	return len(s.Words) == 2 && s.Words[1].Known && !s.Words[1].Glob && line.In(versionFlags(s.Name()), s.Words[1].Text)
}

// trait is a trait of a read-only command.
type trait int

const (
	pathless     trait = 1 << iota // its words are no files
	globless                       // no word may be a glob: it could become a format, an operator or a file to write
	soft                           // a word of public variables and the output of read-only commands does no harm
	strict                         // it takes no long options and no subscripts
	risky                          // its options write or run programs: no glob may turn into one
	patternFirst                   // its first plain word is a pattern
	wordless                       // only without words does it read
)

// readOnly is a row of the reading table, with the options by which it does more than read.
type readOnly struct {
	names string
	not   string // options by which it does more than read in the project
	// recursive are options that make it descend; "*" when it may without any.
	recursive string
	// operands is how many plain words it may have, 0 for any: the next is written.
	operands int
	is       trait
	note     string // the documentation shows it beside not
}

func (r readOnly) has(t trait) bool { return r.is&t != 0 }

// readOnlyCommands is the reading table, in the order of its documentation.
var readOnlyCommands = []readOnly{
	{names: "ls", not: "-L --dereference"},
	{names: "tree", is: risky, not: "-o -R -l --fromfile --fromtabfile --gitfile --infofile"},
	{names: "find", is: strict | risky, not: "-exec -execdir -ok -okdir -delete -fprint -fprint0 -fprintf -fls -files0-from -f -L -follow"},
	{names: "fd fdfind", recursive: "*", is: risky | patternFirst, not: "-x -X -L -C --exec --exec-batch --follow --ignore-file --base-directory --search-path"},
	{names: "du", not: "-L -D -H -X --dereference --dereference-args --files0-from --exclude-from"},
	{names: "stat"},
	{names: "file", is: risky, not: `-C -m -f -z -Z -s -S -p --compile --magic-file --files-from
		--uncompress --uncompress-noreport --special-files --preserve-date --no-sandbox`},
	{names: "realpath readlink"},
	{names: "basename dirname", is: pathless | globless},
	{names: "pwd cd cat rev"},
	{names: "tac"},
	{names: "head tail", not: "-f -F --follow --retry"},
	{names: "nl"},
	{names: "wc", not: "--files0-from"},
	{names: "grep egrep fgrep", recursive: "-r -R -d --recursive --dereference-recursive --directories", is: patternFirst, not: "-f --file --exclude-from"},
	{names: "rg", recursive: "*", is: risky | patternFirst, not: "-f --file --pre -z --search-zip --hostname-bin --ignore-file"},
	{names: "cut"},
	{names: "paste"},
	{names: "join"},
	{names: "column"},
	{names: "fold"},
	{names: "expand unexpand"},
	{names: "tr", is: pathless | globless},
	{names: "sort", is: risky, not: "-o -T --output --temporary-directory --compress-program --files0-from"},
	{names: "comm"},
	// Two directories are compared file by file even without -r.
	{names: "diff", recursive: "*", not: "-l --paginate --from-file --to-file"},
	{names: "cmp"},
	{names: "od"},
	{names: "xxd", operands: 1, not: "-r", is: globless, note: "one file: a second would be written"},
	{names: "hexdump", not: "-f"},
	{names: "strings", is: globless, not: "@", note: "@FILE is a file of options"},
	{names: "base64", operands: 1, is: globless, not: "-o --output"},
	{names: "cksum sum md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum shasum", not: "-c --check"},
	{names: "echo", is: pathless | soft,
		note: "also of public variables such as $HOME and $?, and of the output of read-only commands"},
	{names: "test [ [[", is: globless | strict, note: "no numbers, no subscripts", not: "-v -R -o -eq -ne -lt -le -gt -ge"},
	{names: "true false : which type", is: pathless | globless},
	// With another command behind it it is opened and judged by that.
	{names: "command", is: pathless | globless, note: "-v and -V"},
	{names: "seq sleep expr uname nproc id groups free", is: pathless | globless},
	{names: "df"},
	{names: "date", is: pathless | globless, note: "only -u, -R, -I; operands begin with +"},
	{names: "arch whoami hostname uptime tty", is: pathless | globless | wordless, note: "without words"},
	{names: "git", is: risky},
}

// readOnlyRow finds the row of a command; ok reports whether there is one.
func readOnlyRow(name string) (r readOnly, ok bool) {
	i := slices.IndexFunc(readOnlyCommands, func(r readOnly) bool { return line.In(r.names, name) })
	if i < 0 {
		return readOnly{}, false
	}
	return readOnlyCommands[i], true
}
