package line

import (
	"path"
	"slices"
	"strings"
)

// GitWords are the words of a git command from its subcommand on, without git's own options.
func GitWords(words []Word) []Word {
	for i := 0; i < len(words); i++ {
		switch a := words[i].Text; {
		case In("-C -c --git-dir --work-tree --namespace --exec-path --config-env", a):
			i++
		case IsOption(a):
		default:
			return words[i:]
		}
	}
	return nil
}

// Git are the words of a git command from its subcommand on; nil for other commands.
func (c Command) Git() []Word {
	if !strings.EqualFold(c.Base(), "git") {
		return nil
	}
	return GitWords(c.Words[1:])
}

// Destroys names a command that throws work away by its words alone, "" for others.
func (c Command) Destroys() (what string) {
	name, args := strings.ToLower(c.Base()), c.Args()
	switch name {
	case "rm":
		if HaveOption(args, "-r -R --recursive") {
			return "rm -r"
		}
	case "find":
		if slices.Contains(args, "-delete") {
			return "find -delete"
		}
	case "shred", "truncate", "mv":
		return name
	case "git":
		if words := Texts(c.Git()); len(words) > 0 {
			return destroysInGit(words[0], words[1:])
		}
	}
	return ""
}

func destroysInGit(sub string, args []string) (what string) {
	const force = "-f --force"
	first := ""
	if len(args) > 0 {
		first = args[0]
	}
	for _, row := range []struct{ subs, first, options, what string }{
		{"clean restore rebase filter-branch", "", "", "git " + sub},
		{"reset", "", "--hard --merge", "git reset --hard"},
		{"checkout", "", force + " --pathspec-from-file", "git checkout --"},
		{"switch", "", force + " --discard-changes", "git switch --force"},
		{"stash", "drop clear", "", "git stash " + first},
		{"reflog", "expire", "", "git reflog expire"},
		{"branch", "", force + " -D", "git branch -D"},
		{"update-ref", "", "-d --delete --stdin", "git update-ref -d"},
		{"gc", "", "--prune", "git gc --prune"},
		{"worktree", "remove", force, "git worktree remove --force"},
		{"push", "", force + " --force-with-lease --force-if-includes --mirror --delete -d --prune", "git push --force"},
	} {
		if In(row.subs, sub) && (row.first == "" || In(row.first, first)) &&
			(row.options == "" || HaveOption(args, row.options)) {
			return row.what
		}
	}
	switch {
	case sub == "checkout" && (slices.Contains(args, "--") || slices.Contains(args, ".")):
		return "git checkout --"
	case sub == "push" && slices.ContainsFunc(args, func(a string) bool { return strings.IndexAny(a, "+:") == 0 }):
		return "git push --force"
	}
	return ""
}

// MentionsDestructive looks for the commands of Destroys, and for output into
// files, in a text that is not understood.
func MentionsDestructive(line string) bool {
	line = strings.ToLower(strings.NewReplacer("\\", "", "'", "", `"`, "").Replace(line))
	words := strings.FieldsFunc(line, func(c rune) bool { return c < 'a' || c > 'z' })
	return strings.ContainsAny(line, ">`$") || slices.ContainsFunc(words, func(word string) bool {
		return In("git rm find shred truncate mv tee cp sed dd install ln", word)
	})
}

// Replaces are the files whose contents a command replaces: those that it moves something
// onto, those that its output goes into, and those that git takes from the index.
func (c Command) Replaces() (files []Word) {
	files = slices.Clip(c.Overwrites)
	switch c.Base() {
	case "mv":
		files = append(files, moved(c.Operands("-t -S --suffix --target-directory"))...)
	case "git":
		files = append(files, checkedOut(c.Git())...)
	}
	return slices.DeleteFunc(files, func(w Word) bool { return !w.Known })
}

// Loses are the files and directories that a command which throws work away could remove or
// overwrite; nil where they are not known.
func (c Command) Loses() []Word {
	files := c.Operands("-s --size -n --iterations -S --suffix")
	if c.Base() == "mv" {
		files = append(files, moved(c.Operands("-t -S --suffix --target-directory"))...)
	}
	files = append(files, c.Overwrites...)
	unknown := slices.ContainsFunc(files, func(w Word) bool { return !w.Known || w.Glob })
	if c.Base() == "find" || len(c.Dirs) == 0 || unknown {
		return nil
	}
	return files
}

// moved are the files that a mv of these operands would replace.
func moved(operands []Word) (targets []Word) {
	if len(operands) < 2 {
		return nil
	}
	to := operands[len(operands)-1]
	targets = append(targets, to)
	for _, from := range operands[:len(operands)-1] {
		if from.Known {
			targets = append(targets, Word{Text: path.Join(to.Text, path.Base(from.Text)), Known: to.Known, Glob: from.Glob})
		}
	}
	return targets
}

// checkedOut are the plain words of git checkout, which may be files.
func checkedOut(words []Word) (files []Word) {
	if len(words) == 0 || words[0].Text != "checkout" {
		return nil
	}
	for _, w := range words[1:] {
		if HasOption(w.Text, "-b -B --orphan --track -t") {
			return nil // a branch is made
		}
		if !IsOption(w.Text) {
			files = append(files, w)
		}
	}
	return files
}

// Writes are the files that a command may write, as far as its words and redirections name
// them.
func (c Command) Writes() []Word {
	return append(slices.Clip(c.Outputs), c.writtenBy(strings.ToLower(c.Base()))...)
}

func (c Command) writtenBy(name string) []Word {
	args := c.Args()
	const nameless = "-S --suffix" // options whose value is no file
	switch name {
	case "tee", "touch", "rm", "unlink", "chmod", "chown", "truncate", "shred", "mkdir", "rmdir", "patch", "ed", "ex",
		"vi", "vim", "nano", "sponge", "split", "csplit":
		return c.Operands("")
	case "git":
		if words := c.Git(); len(words) > 0 && (words[0].Text == "mv" || words[0].Text == "rm") {
			operands := Command{Words: words}.Operands("")
			return append(operands, moved(operands)...)
		}
	case "find":
		return c.valuesOf("-fprint -fprint0 -fprintf -fls")
	case "mv", "ln", "link", "rename":
		operands := c.Operands(nameless)
		return append(operands, moved(operands)...)
	case "cp", "install", "rsync", "scp":
		operands := c.Operands(nameless + " -m -o -g --mode")
		// A link of cp's is another name for its first operand.
		if HaveOption(args, "-t --target-directory") || name == "cp" && HaveOption(args, "-l --link -s --symbolic-link") {
			return operands
		}
		return moved(operands)
	case "sed", "gsed", "perl":
		if HaveOption(args, "-i --in-place") {
			return c.Operands("")
		}
	case "awk", "gawk":
		if slices.ContainsFunc(args, func(w string) bool { return strings.Contains(w, "inplace") }) {
			return c.Words[1:]
		}
	case "dd", "sort", "curl", "wget", "tar", "unzip", "tree", "jq", "yq", "uniq", "xxd", "base64", "gpg", "openssl":
		return c.Words[1:] // of=, -o FILE and the like
	}
	return nil
}

// Operands are the words of a command without its options, and without the
// values of those in valued.
func (c Command) Operands(valued string) (operands []Word) {
	for i := 1; i < len(c.Words); i++ {
		w := c.Words[i]
		switch {
		case In(valued, w.Text):
			i++
			if i < len(c.Words) && (w.Text == "-t" || w.Text == "--target-directory") {
				operands = append(operands, c.Words[i])
			}
		case IsOption(w.Text):
			if _, value, ok := strings.Cut(w.Text, "="); ok { // --target-directory=.git/hooks
				operands = append(operands, Word{Text: value, Known: w.Known, Glob: w.Glob})
			}
		default:
			operands = append(operands, w)
		}
	}
	return operands
}

// valuesOf are the values of these options that stand in the next word.
func (c Command) valuesOf(options string) (values []Word) {
	for i, w := range c.Words {
		if In(options, w.Text) && i+1 < len(c.Words) {
			values = append(values, c.Words[i+1])
		}
	}
	return values
}
