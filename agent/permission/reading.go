package permission

import (
	"cmp"
	"slices"
	"strings"

	"artoo/agent/permission/line"
	facts "artoo/tool/project"
)

// reader is a row of the reading table: commands that only read, with the options by which they do more.
type reader struct {
	names string // of programs; of git's commands as "git/log"
	not   string // options by which a command does more than read in the project
	// only are patterns of the options that it may have; of a command whose words are no files, of all its words.
	only string
	// below are options that make it read what lies below a directory; "*" when it may without any.
	below string
	// pathless means that its words are no files, so that no glob may stand among them; risky that its options
	// write or run programs, so that no glob may turn into one.
	pathless, risky bool
}

const gitOptions = `-O --output --ext-diff --textconv --no-index --contents --open-files-in-pager --exec --upload-pack
	--paginate --show-signature --submodule --recurse-submodules --stdin --remerge-diff --help --untracked
	--no-exclude-standard --filters --batch --batch-check --batch-command --batch-all-objects --edit --alternate-refs --diff-merges `

// readers is the reading table, in the order of its documentation.
var readers = []reader{
	{names: "ls", not: "-L --dereference"},
	{names: "tree", not: "-o -R -l --fromfile --fromtabfile --gitfile --infofile", risky: true},
	{names: "find", only: `-name -iname -path -ipath -regex -iregex -type -size -newer -mtime -mmin -perm -empty -maxdepth -mindepth
		-depth -xdev -prune -not -a -and -o -or -print -print0 -printf -ls -quit -[0-9]*`, risky: true},
	{names: "fd fdfind",
		not: "-x -X -L -C --exec --exec-batch --follow --ignore-file --base-directory --search-path", risky: true},
	{names: "du", not: "-L -D -H -X --dereference --dereference-args --files0-from --exclude-from"},
	{names: "stat realpath readlink pwd cd cat rev tac nl cut paste join column fold expand unexpand comm cmp od"},
	{names: "file", not: `-C -m -f -z -Z -s -S -p --compile --magic-file --files-from
		--uncompress --uncompress-noreport --special-files --preserve-date --no-sandbox`, risky: true},
	{names: "head tail", not: "-f -F --follow --retry"},
	{names: "wc", not: "--files0-from"},
	{names: "grep egrep fgrep", not: "-f --file --exclude-from",
		below: "-r -R -d --recursive --dereference-recursive --directories"},
	{names: "rg", not: "-f --file --pre -z --search-zip --hostname-bin --ignore-file", below: "*", risky: true},
	{names: "sort", not: "-o -T --output --temporary-directory --compress-program --files0-from", risky: true},
	{names: "diff", not: "-l --paginate --from-file --to-file", below: "*"}, // It compares directories even without -r.
	{names: "cksum sum md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum shasum", not: "-c --check"},
	{names: "test [ [[", only: "-[a-hk-pr-uwxzLSNOG] -nt -ot -ef", risky: true},
	{names: "echo true false : which type command basename dirname tr seq sleep expr uname nproc id groups free df",
		pathless: true},
	{names: "date", only: "-u -R -I +*", pathless: true},
	{names: "arch whoami hostname uptime tty", only: "-", pathless: true},
	{names: `git/log git/show git/ls-tree git/cat-file git/rev-parse git/rev-list git/merge-base git/describe git/shortlog
		git/name-rev git/cherry git/show-ref git/for-each-ref git/count-objects git/check-ignore git/version git/--version
		git/stash/list git/stash/show git/worktree/list`, not: gitOptions, risky: true},
	{names: "git/status", not: gitOptions + "-v --verbose", risky: true},
	{names: "git/ls-files", not: gitOptions + "-X", risky: true},
	{names: "git/blame", not: gitOptions + "-S", risky: true},
	{names: "git/diff", not: gitOptions, below: "*", risky: true},
	{names: "git/grep", not: gitOptions + "-f", below: "*", risky: true},
	{names: "git/branch",
		only:     "-a -r -v -vv --all --remotes --list -l --show-current --no-color --merged --no-merged --verbose",
		pathless: true},
	{names: "git/tag", only: "-l --list -n --merged --no-merged", pathless: true},
	{names: "git/remote", only: "-v --verbose", pathless: true},
	{names: "git/reflog", only: "-n -5 -10 -20 --oneline", pathless: true},
}

// readerOf finds the row of a command, with the words behind the name in it and their directory.
func readerOf(s line.Command) (r reader, words []line.Word, dir string) {
	name, words, dir := s.Name(), s.Words[min(1, len(s.Words)):], s.Dir
	for name == "git" && len(words) > 1 && line.In("--no-pager -P -C", words[0].Text) {
		if words[0].Text == "-C" && words[1].Known {
			dir, words = line.Command{Dir: dir}.Path(words[1].Text), words[1:]
		}
		words = words[1:]
	}
	if name == "git" && len(words) > 0 {
		name, words = name+"/"+words[0].Text, words[1:]
		if len(words) > 0 && line.In("git/stash git/worktree", name) {
			name += "/" + words[0].Text
		}
	}
	r, _ = find(readers, func(r reader) bool { return line.In(r.names, name) })
	return r, words, dir
}

// around names the part around a command's words that no rule for its words covers, "" for none.
func around(s line.Command) string {
	switch {
	case len(s.Outputs) > 0:
		return "its output goes into " + s.Outputs[0].Text
	case s.Compound, s.RunsUnknown, s.UnsafeExpansion:
		return "it is not a simple command, and artoo cannot see which commands it runs"
	}
	return ""
}

// plain is around for a command that nothing else changes either.
func plain(s line.Command) string {
	switch {
	case s.SetsVariables:
		return "variables are set for it, which can change its effect"
	case s.Elevated:
		return "it runs with more privileges than yours"
	case s.TakesArgs:
		return "another command starts it and adds arguments"
	case s.UnknownText:
		return "its input is not known before it runs"
	}
	return around(s)
}

// reading reports whether a command only reads, files it may read. why names the obstacle, "" where
// it is no command of the reading table at all.
func (p *Policy) reading(s line.Command) (ok bool, why string) {
	r, words, dir := readerOf(s)
	if r.names == "" || s.Compound || s.RunsUnknown {
		return false, ""
	}
	git := s.Name() == "git"
	switch why = plain(s); {
	case why == "" && dir == "" && (!r.pathless || len(s.Inputs) > 0 || git):
		why = "the directory that " + s.Name() + " runs in is not known"
	case why == "" && git:
		why = p.mayRead(dir, ".", false)
	}
	for _, w := range words {
		why = cmp.Or(why, p.readingWord(r, s.Name(), dir, w))
	}
	for _, w := range s.Inputs {
		why = cmp.Or(why, p.readingWord(reader{}, s.Name(), dir, w))
	}
	texts := line.Texts(words)
	if r.below != "" && (r.below == "*" || line.HaveOption(texts, r.below)) {
		why = cmp.Or(why, p.readingBelow(s.Name(), dir, texts))
	}
	err := p.system(s.Name())
	if git && why == "" {
		err = cmp.Or(err, p.gitRuns(dir))
	}
	if why == "" && err != nil {
		why = err.Error()
	}
	return why == "", why
}

// readingWord says why a word keeps a command from being one that only reads, "" for nothing.
func (p *Policy) readingWord(r reader, name, dir string, w line.Word) (why string) {
	// Git runs a program for a signature; a ref may lead to any file's content.
	format := func(field string) bool { return name == "git" && strings.Contains(w.Text, field) }
	switch {
	case !w.Known:
		return "the value of " + w.Text + " is not known before " + name + " runs"
	case w.Glob && (r.pathless || r.risky && strings.IndexAny(w.Text, "*?[-") == 0):
		return "the pattern " + w.Text + " may stand for an option of " + name + ": write ./" + w.Text
	case w.Glob && p.Shell.Kind() != "bash" && strings.Contains(w.Text, "**"):
		return "the meaning of " + w.Text + " differs from shell to shell"
	case r.only != "" && (r.pathless || strings.HasPrefix(w.Text, "-")) && !matchesAny(r.only, w.Text),
		line.HasOption(w.Text, r.not),
		slices.ContainsFunc([]string{"%G", "%(signature", "%(contents:sig", "%(raw", "%(*raw"}, format):
		return name + " " + w.Text + " can write, run programs or read elsewhere"
	}
	for rest, found := valueOf(w.Text), !r.pathless; found; _, rest, found = strings.Cut(rest, ":") {
		why = cmp.Or(why, p.mayRead(dir, rest, false))
	}
	return why
}

// readingBelow says why a command may not read what lies below the directories that it is given, or its own.
func (p *Policy) readingBelow(name, dir string, words []string) (why string) {
	if name == "git" { // What git has stored is no secret: only the files of the work tree are hidden.
		loud := func(w string) bool {
			return line.IsOption(w) && !line.In("--stat --shortstat --numstat --name-only --name-status", w)
		}
		shows := !line.HaveOption(words, "--cached --staged") && (!slices.ContainsFunc(words, line.IsOption) ||
			slices.ContainsFunc(words, loud))
		hidden, err := p.Denied()
		if shows && p.Files != nil && !p.Confinement.Layer && !p.Confinement.ByEntry && (err != nil || len(p.Files.TrackedOf(hidden)) > 0) {
			return "it can show hidden files of the work tree that git tracks"
		}
		return ""
	}
	var files []string
	valued := false // an option may take the next word
	for _, w := range words {
		if line.IsOption(w) {
			valued = valued || strings.Trim(w, "-nrRilLcovwHhsqxEFPSUu0123456789") != "" && !strings.Contains(w, "=")
			continue
		}
		files = append(files, w)
	}
	if valued || len(files) < 2 { // The first may be a pattern.
		files = append(files, ".")
	}
	for _, file := range files {
		why = cmp.Or(why, p.mayRead(dir, file, true))
	}
	return why
}

// system says why a program is not the system's, nil where it is.
func (p *Policy) system(name string) error {
	if shellBuiltin(name) && (name != "[[" || p.Shell.Kind() == "bash") {
		return nil
	}
	return facts.ProgramOf(p.Environ, p.Root, name)
}

// shellBuiltin reports whether shells have this command within them.
func shellBuiltin(name string) bool {
	return line.In("cd pwd echo printf true false : type command test [ [[", name)
}

// valueOf is the part of a word that may name a file: the value of an option, or all of it.
func valueOf(w string) string {
	if _, value, ok := strings.Cut(w, "="); ok && line.IsOption(w) {
		return value
	}
	if line.IsOption(w) && len(w) > 2 && w[1] != '-' {
		return w[2:]
	}
	return w
}
