package permission

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// writesUnknown says why the resolved commands of a line may write a file that
// others run although none of them names it: where something is put is not known
// beforehand, or it is not, and the line names such a file. "" for neither.
func (p *Policy) writesUnknown(commands []simple) (why string) {
	named := slices.ContainsFunc(commands, mentionsOthersRun)
	lost := slices.ContainsFunc(commands, func(s simple) bool { // cd $(…)
		return s.name() == "cd" && slices.ContainsFunc(s.words, func(w word) bool { return w.free })
	})
	for _, s := range commands {
		name := strings.ToLower(path.Base(s.name()))
		for _, w := range destinations(name, s) {
			if w.free {
				return "it is not known beforehand where it writes (" + w.text + ")"
			}
		}
		written := append(slices.Clip(s.outputs), writtenBy(name, s)...)
		unknown := slices.ContainsFunc(written, func(w word) bool { return w.free || s.fed && !w.known })
		if named && (unknown || s.fed && changesFiles(name, s) || lost && len(written) > 0) {
			return "it may write a file named in it, which others run or obey"
		}
	}
	return ""
}

// mentionsOthersRun reports whether a command names a file that others run, but
// for leaving it out of a search.
func mentionsOthersRun(s simple) bool {
	for i, w := range s.words {
		before := ""
		if i > 0 {
			before = s.words[i-1].text
		}
		leaves := func(prefix string) bool { return strings.HasPrefix(w.text, prefix) }
		excluded := strings.HasPrefix(before, "--exclude") || leaves("--exclude") || leaves("!") || leaves(":!") ||
			leaves(":(exclude)")
		if before == "-path" || before == "-name" {
			excluded = i > 1 && (s.words[i-2].text == "-not" || s.words[i-2].text == "!") ||
				slices.ContainsFunc(s.words[i:], func(w word) bool { return w.text == "-prune" })
		}
		if !excluded && namesOthersRun(w.text) {
			return true
		}
	}
	return slices.ContainsFunc(plain(s.inputs), namesOthersRun) || slices.ContainsFunc(s.texts, namesOthersRun)
}

// changesFiles reports whether a command changes the files it is given as
// operands.
func changesFiles(name string, s simple) bool {
	operand := word{text: "operand", known: true}
	s.words = append(slices.Clip(s.words), operand)
	return slices.Contains(writtenBy(name, s), operand)
}

// destinations are the words that say where a command puts something: a single
// file or directory, other than the files that it changes in place.
func destinations(name string, s simple) []word {
	to := slices.Clone(s.outputs)
	switch name {
	case "tee", "sponge":
		return append(to, operandsOf(s, "")...)
	case "cp", "mv", "ln", "install", "rsync", "scp":
		to = append(to, fileOptions(s, "-t --target-directory")...)
		if operands := operandsOf(s, "-S --suffix -m -o -g --mode -t --target-directory"); len(operands) > 1 {
			to = append(to, operands[len(operands)-1])
		}
	case "curl", "wget", "sort", "gpg":
		to = append(to, fileOptions(s, "-o -O --output --output-document")...)
	case "find":
		to = append(to, fileOptions(s, "-fprint -fprint0 -fprintf -fls")...)
	case "dd":
		for _, w := range s.words[1:] {
			if strings.HasPrefix(w.text, "of=") {
				to = append(to, w)
			}
		}
	}
	return to
}

// fileOptions are the values of these options that stand in the next word.
func fileOptions(s simple, options string) (values []word) {
	for i, w := range s.words {
		if listed(options, w.text) && i+1 < len(s.words) {
			values = append(values, s.words[i+1])
		}
	}
	return values
}

// awkWrites finds what puts a program of awk's output elsewhere than on its own,
// or runs commands.
var awkWrites = regexp.MustCompile(`\bprintf?\b[^;}\n]*[>|]|\bsystem[ \t]*\(|\|[ \t]*&?[ \t]*getline`)

// writtenByProgram are the files that a program for sed or awk names and may
// write.
func writtenByProgram(name string, s simple) (files []word) {
	if len(s.words) < 2 {
		return nil
	}
	named := func(text string) { files = append(files, word{text: text, known: true}) }
	switch name {
	case "sed", "gsed":
		for _, w := range s.words[1:] {
			if sedPrints(w.text) {
				continue
			}
			for i, c := range w.text { // what follows each w, up to the line's end
				if c == 'w' || c == 'W' || c == 'e' {
					file, _, _ := strings.Cut(w.text[i+1:], "\n")
					for text := range strings.FieldsSeq(file) {
						named(strings.Trim(text, "'\""))
					}
				}
			}
		}
	case "awk", "gawk", "mawk", "nawk", "original-awk":
		if !slices.ContainsFunc(s.words[1:], func(w word) bool { return awkWrites.MatchString(w.text) }) {
			return nil
		}
		for _, w := range s.words[1:] {
			_, value, assigns := strings.Cut(w.text, "=")
			if assigns && !awkWrites.MatchString(w.text) { // -v out=FILE
				named(value)
			}
			for i, quoted := range strings.Split(w.text, `"`) {
				if i%2 == 1 {
					for text := range strings.FieldsSeq(quoted) {
						named(strings.TrimLeft(text, ">|"))
					}
				}
			}
		}
	}
	return files
}

// appliesPatch says that a patch may write what others run, unless it stands in
// the line and names nothing such.
func appliesPatch(name string, s simple) (what string, yes bool) {
	quoted := func(text string) bool { return strings.Contains(text, ` "`) }
	fromFile := len(s.texts) == 0 || s.unsure || len(s.inputs) > 0 || slices.ContainsFunc(s.words[1:], func(w word) bool {
		return !isOption(w.text) && w.text != "apply" && w.text != "am"
	})
	if fromFile || slices.ContainsFunc(s.texts, namesOthersRun) || slices.ContainsFunc(s.texts, quoted) {
		return name + ", whose patch may write files that others run", true
	}
	return "", false
}

// patchesFiles reports whether a command of git writes files as a patch says:
// not with options that only look at it, or only end what was begun.
func patchesFiles(sub string, args []string) bool {
	has := func(options string) bool {
		return slices.ContainsFunc(args, func(a string) bool { return listed(options, a) })
	}
	switch sub {
	case "apply":
		return has("--apply --index -3 --3way") || !has("--check --stat --numstat --summary --cached")
	case "am":
		return !has("--abort --quit") && !slices.ContainsFunc(args, func(a string) bool {
			return strings.HasPrefix(a, "--show-current-patch")
		})
	}
	return false
}
