package permission

import (
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// writesWhatOthersRun says which file that others run a command writes, as far
// as its words tell, "" when there is none.
func (p *Policy) writesWhatOthersRun(s simple) (why string) {
	name := strings.ToLower(path.Base(s.name()))
	if name == "git" {
		words := gitCommand(s.words[1:])
		if len(words) > 0 && words[0].text == "config" {
			words = words[1:] // git takes no value beside a list of all
			lists := len(words) > 0 && words[0].known && listed("-l --list list", words[0].text)
			if !lists && gitConfigWrites(plain(words)) != "" {
				return "it can write git's configuration, which git obeys"
			}
		}
	}
	written := append(slices.Clip(s.outputs), writtenBy(name, s)...)
	for _, w := range append(written, writtenByProgram(name, s)...) {
		text := strings.TrimPrefix(w.text, "of=")
		if w.glob {
			if why := globOfOthers(text); why != "" {
				return why
			}
		}
		for _, file := range p.places(s, text) {
			why := p.runByOthers(file)
			// A link on the way may lead to one.
			if real, err := filepath.EvalSymlinks(filepath.Dir(file)); err == nil && why == "" {
				why = p.runByOthers(filepath.Join(real, filepath.Base(file)))
			}
			if why != "" {
				return why
			}
		}
	}
	return ""
}

// writtenBy are the words of a command that may name what it writes.
func writtenBy(name string, s simple) []word {
	has := func(options string) bool {
		return slices.ContainsFunc(s.words, func(w word) bool { return hasOption(w.text, options) })
	}
	const nameless = "-S --suffix" // options whose value is no file
	switch name {
	case "tee", "touch", "rm", "unlink", "chmod", "chown", "truncate", "shred", "mkdir", "rmdir", "patch", "ed", "ex",
		"vi", "vim", "nano", "sponge", "split", "csplit":
		return operandsOf(s, "")
	case "git":
		if words := gitCommand(s.words[1:]); len(words) > 0 && (words[0].text == "mv" || words[0].text == "rm") {
			operands := operandsOf(simple{words: words}, "")
			return append(operands, moved(operands)...)
		}
	case "find":
		return fileOptions(s, "-fprint -fprint0 -fprintf -fls")
	case "mv", "ln", "link", "rename":
		operands := operandsOf(s, nameless)
		return append(operands, moved(operands)...)
	case "cp", "install", "rsync", "scp":
		operands := operandsOf(s, nameless+" -m -o -g --mode")
		// A link of cp's is another name for its first operand.
		if has("-t --target-directory") || name == "cp" && has("-l --link -s --symbolic-link") {
			return operands
		}
		return moved(operands)
	case "sed", "gsed", "perl":
		if has("-i --in-place") {
			return operandsOf(s, "")
		}
	case "awk", "gawk":
		if slices.ContainsFunc(s.words[1:], func(w word) bool { return strings.Contains(w.text, "inplace") }) {
			return s.words[1:]
		}
	case "dd", "sort", "curl", "wget", "tar", "unzip", "tree", "jq", "yq", "uniq", "xxd", "base64", "gpg", "openssl":
		return s.words[1:] // of=, -o FILE and the like
	}
	return nil
}

// operandsOf are the words of a command without its options, and without the
// values of those in valued.
func operandsOf(s simple, valued string) (operands []word) {
	for i := 1; i < len(s.words); i++ {
		w := s.words[i]
		switch {
		case listed(valued, w.text):
			i++
			if i < len(s.words) && (w.text == "-t" || w.text == "--target-directory") {
				operands = append(operands, s.words[i])
			}
		case isOption(w.text):
			if _, value, ok := strings.Cut(w.text, "="); ok { // --target-directory=.git/hooks
				operands = append(operands, word{text: value, known: w.known, glob: w.glob})
			}
		default:
			operands = append(operands, w)
		}
	}
	return operands
}

// globOfOthers says that a glob may stand for one of the well-known files that
// others run. Not all names of the list count: a* may be azure-pipelines.yml too,
// and hardly ever is.
func globOfOthers(glob string) (why string) {
	for part := range strings.SplitSeq(glob, "/") {
		if strings.Trim(part, "*") == "" || !strings.ContainsAny(part, "*?[") {
			continue
		}
		for name := range strings.FieldsSeq(`.git .github .husky .vscode .idea .envrc .npmrc .claude .artoo .cargo .gitmodules
			.gitattributes .githooks .mcp.json AGENTS.md CLAUDE.md Jenkinsfile`) {
			if fits, err := path.Match(part, name); fits || err != nil {
				return "it may write " + name + ", which others run or obey (" + glob + ")"
			}
		}
	}
	return ""
}
