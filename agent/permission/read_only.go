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

// trait is a trait of a read-only command.
type trait int

const (
	optionsFirst trait = 1 << iota // options end at its first plain word: behind it may stand a file to write
	pathless                       // its words are no files
	patternFirst                   // its first plain word is a pattern, unless an option gives one
	globless                       // no word may be a glob: it could become a format, an operator or a file to write
	soft                           // a word of public variables and the output of read-only commands does no harm
	risky                          // those of not write or execute: no glob may turn into one
	special                        // its words are judged by reader.special, not by the options
	wordless                       // only without words does it read
)

// readOnly is a row of the @read group, with the options by which it does more than read.
type readOnly struct {
	names string
	// values are options whose value names no file: letters, and long names without dashes.
	values string
	// doubtful are others that may take the next word: a file, or none with some versions.
	doubtful string
	not      string // options by which it does more than read in the project
	// recursive are options that make it descend; "*" when it may without any.
	recursive string
	// operands is how many plain words it may have, 0 for any: the next is written.
	operands int
	is       trait
	note     string // the documentation shows it beside not
}

func (r readOnly) has(t trait) bool { return r.is&t != 0 }

// readOnlyCommands is the @read group, in the order of its documentation.
var readOnlyCommands = []readOnly{
	{names: "ls", values: "I w ignore hide", not: "-L --dereference"},
	{names: "tree", values: "L P I filelimit charset sort timefmt", is: risky, not: "-o -R -l --fromfile --fromtabfile"},
	{names: "find", is: risky | special, not: "-exec -execdir -ok -okdir -delete -fprint -fprint0 -fprintf -fls -files0-from -f -L -follow"},
	{names: "fd fdfind", values: `t e d E S c type extension max-depth min-depth exact-depth exclude color max-results size
		changed-within changed-before`, is: patternFirst | risky, not: "-x -X -L -C --exec --exec-batch --follow --ignore-file --base-directory --search-path"},
	{names: "du", values: "d B t max-depth block-size exclude threshold",
		not: "-L -D -H -X --dereference --dereference-args --files0-from --exclude-from"},
	{names: "stat", values: "c format printf"},
	{names: "file", values: "F e P separator exclude parameter", is: risky, not: `-C -m -f -z -Z -s -S -p --compile --magic-file --files-from
		--uncompress --uncompress-noreport --special-files --preserve-date --no-sandbox`},
	{names: "realpath readlink"},
	{names: "basename dirname", is: pathless | globless},
	{names: "pwd cd cat rev"},
	{names: "tac", values: "s separator"},
	{names: "head tail", values: "n c lines bytes", not: "-f -F --follow --retry"},
	{names: "nl", values: `b d f h i l n s v w body-numbering section-delimiter footer-numbering header-numbering line-increment
		join-blank-lines number-format number-separator starting-line-number number-width`},
	{names: "wc", not: "--files0-from"},
	// -C takes a number in the next word with GNU, not with every BSD.
	{names: "grep egrep fgrep", values: `A B m e d D X regexp max-count after-context before-context include exclude exclude-dir
		binary-files label`, doubtful: "f C file context devices directories group-separator include-dir", recursive: "r R d recursive dereference-recursive directories", is: patternFirst,
		not: "--exclude-from"},
	{names: "rg", values: `A B C m j M e g t T r d E after-context before-context context max-count glob iglob type type-not replace
		max-depth max-columns max-filesize regexp sort sortr color encoding threads colors`, doubtful: `f file context-separator
		field-context-separator field-match-separator path-separator type-add type-clear dfa-size-limit regex-size-limit engine
		pre-glob hyperlink-format maxdepth generate`, recursive: "*", is: patternFirst | risky,
		not: "--pre -z --search-zip --hostname-bin --ignore-file"},
	{names: "cut", values: "b c d f bytes characters delimiter fields output-delimiter"},
	{names: "paste", values: "d delimiters"},
	{names: "join", values: "a e v j o t 1 2"},
	{names: "column", values: "s c o N R H separator output-separator table-columns table-right"},
	{names: "fold", values: "w width"},
	{names: "expand unexpand", values: "t tabs"},
	{names: "tr", is: pathless | globless},
	{names: "sort", values: "k t S key field-separator buffer-size parallel", is: risky,
		not: "-o -T --output --temporary-directory --compress-program --files0-from"},
	{names: "comm", values: "output-delimiter"},
	// Two directories are compared file by file even without -r.
	{names: "diff", values: "C U W x I F L D width label exclude ignore-matching-lines show-function-line",
		recursive: "*", not: "-l --paginate"},
	{names: "cmp", values: "n bytes"},
	{names: "od", values: "A j N S t address-radix skip-bytes read-bytes format"},
	{names: "xxd", values: "c g l o s", operands: 1, is: optionsFirst, not: "-r", note: "one file: a second would be written"},
	{names: "hexdump", values: "n s e"},
	{names: "strings", values: "n t bytes radix", is: globless, not: "@", note: "@FILE is a file of options"},
	{names: "base64", values: "w b wrap", operands: 1, not: "-o --output"},
	{names: "cksum sum md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum shasum", values: "a algorithm", not: "-c --check"},
	{names: "echo", is: pathless | soft,
		note: "also of public variables such as $HOME and $?, and of the output of read-only commands"},
	{names: "test [ [[", is: pathless | globless | special, note: "no numbers, no subscripts", not: "-v -R -o -eq -ne -lt -le -gt -ge"},
	{names: "true false : which type", is: pathless | globless},
	// With another command behind it it is opened and judged by that.
	{names: "command", is: pathless | globless, note: "-v and -V"},
	{names: "seq sleep expr uname nproc id groups free", is: pathless | globless},
	{names: "df", values: "t x B block-size type exclude-type"},
	{names: "date", is: pathless | globless | special, note: "only -u, -R, -I; operands begin with +"},
	{names: "arch whoami hostname uptime tty", is: pathless | globless | wordless, note: "without words"},
	{names: "git", is: risky | special},
}

// readOnlyRow finds the row of a command; ok reports whether there is one.
func readOnlyRow(name string) (r readOnly, ok bool) {
	i := slices.IndexFunc(readOnlyCommands, func(r readOnly) bool { return line.In(r.names, name) })
	if i < 0 {
		return readOnly{}, false
	}
	return readOnlyCommands[i], true
}

// options are the words of a read-only command, sorted.
type options struct {
	files     []string // values of options that may name files
	operands  []string
	doubts    int // how many operands may be values of options
	recursive bool
	given     bool // an option gave the pattern
}

// options sorts words, and returns the first by which the command does more than read. Behind the first
// operand BSD takes every word for an operand, GNU does not.
func (r readOnly) options(words []string) (o options, bad string) {
	o.recursive = r.recursive == "*"
	if at := slices.IndexFunc(words, func(w string) bool { return strings.HasPrefix(w, "@") }); at >= 0 && line.In(r.not, "@") {
		return o, words[at]
	}
	for i := 0; i < len(words); i++ {
		w := words[i]
		switch {
		case w == "--":
			o.operands = append(o.operands, words[i+1:]...)
			return o, ""
		case !line.IsOption(w):
			o.operands = append(o.operands, w)
			continue
		case line.HasOption(w, r.not):
			return o, w
		}
		next := o.take(r, w)
		if !next && r.doubts(w) {
			o.doubts++
		}
		if next && i+1 < len(words) {
			if i++; len(o.operands) > 0 {
				o.files = append(o.files, words[i])
			}
		}
	}
	return o, ""
}

// take notes the effect of an option; next means that the next word is its value, and no file.
func (o *options) take(r readOnly, w string) (next bool) {
	if name, ok := strings.CutPrefix(w, "--"); ok {
		name, value, has := strings.Cut(name, "=")
		o.note(r, name)
		if line.In(r.values, name) {
			return !has
		}
		o.files = append(o.files, value)
		return false
	}
	for i := 1; i < len(w); i++ {
		letter := w[i : i+1]
		o.note(r, letter)
		if line.In(r.values, letter) {
			return i+1 == len(w) && (i == 1 || !r.has(optionsFirst)) // xxd knows no clusters
		}
		o.files = append(o.files, w[i+1:]) // -f.env
	}
	return false
}

// doubts reports whether the word behind an option may be its value.
func (r readOnly) doubts(w string) bool {
	name, long := strings.CutPrefix(w, "--")
	if !long {
		return line.In(r.doubtful, w[len(w)-1:])
	}
	return slices.ContainsFunc(strings.Fields(r.doubtful+" "+r.values), func(option string) bool {
		return strings.HasPrefix(option, name)
	})
}

func (o *options) note(r readOnly, name string) {
	o.recursive = o.recursive || slices.ContainsFunc(strings.Fields(r.recursive), func(option string) bool {
		return option == name || len(name) > 1 && strings.HasPrefix(option, name) // GNU takes a beginning
	})
	o.given = o.given || line.In("e f reg rege regex regexp file files type-list expression", name)
}
