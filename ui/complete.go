package ui

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/chzyer/readline"

	search "artoo/tool/search"
	"artoo/ui/prompt"
)

// completions implements prompt.Completer: commands, their arguments, after an @ files, and in a ! line
// programs and files.
func (t *Terminal) completions(text string, cursor int) prompt.Completion {
	cursor = min(max(cursor, 0), len(text))
	before := text[:cursor]
	if name, _, inArgument := strings.Cut(before, " "); strings.HasPrefix(before, "/") && !strings.Contains(before, "\n") &&
		(inArgument || strings.Count(name, "/") == 1) {
		for _, alias := range []bool{false, true} { // an alias where no name begins so
			if c := t.completeCommand(before, text[cursor:], alias); c.Candidates != nil {
				return c
			}
		}
	}
	if strings.HasPrefix(before, "!") {
		path := ""
		if t.opt.Env != nil {
			path = t.opt.Env("PATH")
		}
		return t.access().completeShell(before, path, text[cursor:])
	}
	return t.access().complete(text, cursor, completeWait)
}

// shellSpecial are the characters that a shell reads as something else than themselves.
const shellSpecial = " \t\n'\"\\$`&|;<>()*?[]{}!#~="

// completeShell proposes files for the last word of a line for the shell, and for a word that names a
// program those in the directories of path. A word in quotes has no proposals.
func (a fileAccess) completeShell(before, path, after string) prompt.Completion {
	line := strings.TrimLeft(strings.TrimLeft(before, "!"), " ")
	word, from, first := lastWord(line)
	if strings.ContainsAny(word, `'"`) || a.env.Files == nil {
		return prompt.Completion{}
	}
	ctx, cancel := context.WithTimeout(context.Background(), completeWait)
	defer cancel()
	end := " "
	if strings.HasPrefix(after, " ") {
		end = ""
	}
	c := prompt.Completion{From: len(before) - len(line) + from, To: len(before)}
	word = strings.ReplaceAll(word, `\`, "")
	if first && !strings.Contains(word, "/") {
		for _, name := range programs(ctx, path, word) {
			c.Candidates = append(c.Candidates, prompt.Candidate{Text: name + end})
		}
		return c
	}
	dir, entries := a.entries(ctx, word)
	for _, e := range entries {
		text := escapeRunes(dir+e.Path, shellSpecial)
		if e.Dir {
			text += "/"
		} else {
			text += end
		}
		c.Candidates = append(c.Candidates, prompt.Candidate{Text: text})
	}
	return c
}

// lastWord is the word at the end of a line for the shell, where it begins, and whether it names the program.
func lastWord(line string) (word string, from int, first bool) {
	for i := len(line) - 1; i >= 0; i-- {
		if strings.IndexByte(" \t\n|&;<>()=", line[i]) >= 0 && (i == 0 || line[i-1] != '\\') {
			from = i + 1
			break
		}
	}
	ahead := strings.TrimRight(line[:from], " \t")
	return line[from:], from, ahead == "" || strings.IndexByte("|&;(\n", ahead[len(ahead)-1]) >= 0
}

// programs are the names that begin with prefix in the directories of path, maxNames at most. A directory
// that cannot be read proposes nothing, as in a shell.
func programs(ctx context.Context, path, prefix string) (names []string) {
	for _, dir := range filepath.SplitList(path) {
		entries, err := os.ReadDir(dir)
		if err != nil || ctx.Err() != nil {
			continue
		}
		for _, e := range entries {
			if strings.HasPrefix(e.Name(), prefix) && !e.IsDir() {
				names = append(names, e.Name())
			}
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	return names[:min(len(names), maxNames)]
}

func escapeRunes(text, special string) string {
	var b strings.Builder
	for _, r := range text {
		if strings.ContainsRune(special, r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// completeCommand proposes commands by their names or aliases, and behind the name whole
// arguments.
func (t *Terminal) completeCommand(before, after string, alias bool) prompt.Completion {
	_, argument, inArgument := strings.Cut(before, " ")
	argument = strings.TrimLeft(argument, " ")
	known := map[string]prompt.Candidate{} // the candidates, by their text
	root := readline.NewPrefixCompleter()
	add := func(c slashCommand, name string) {
		candidate := prompt.Candidate{Text: "/" + name, Help: c.help}
		if c.args != "" && wordLength(after) == len(after) {
			candidate.Text += " "
		}
		known["/"+name] = candidate
		arguments := readline.PcItemDynamic(func(string) (list []string) {
			if c.complete == nil || !inArgument {
				return nil
			}
			for _, candidate := range c.complete(t, argument) {
				known[candidate.Text] = candidate
				list = append(list, candidate.Text)
			}
			return list
		})
		root.SetChildren(append(root.GetChildren(), readline.PcItem("/"+name, arguments)))
	}
	for _, c := range commands() {
		names := []string{c.name}
		if alias {
			names = c.aliases
		}
		for _, name := range names {
			if c.run != nil {
				add(c, name)
			}
		}
	}
	if !alias {
		for _, i := range Own(t.opt.Agent.Skills()) {
			add(slashCommand{args: i.Hint, help: oneLine(i.Description)}, i.Name)
		}
	}
	typed := before
	c := prompt.Completion{To: len(before) + wordLength(after)}
	if inArgument {
		typed, c = argument, prompt.Completion{From: len(before) - len(argument), To: len(before)}
	}
	rests, _ := root.Do([]rune(before), len([]rune(before)))
	for _, rest := range rests {
		if candidate, ok := known[typed+strings.TrimSuffix(string(rest), " ")]; ok {
			c.Candidates = append(c.Candidates, candidate)
		}
	}
	if !inArgument {
		slices.SortStableFunc(c.Candidates, func(a, b prompt.Candidate) int { return strings.Compare(a.Text, b.Text) })
	}
	return c
}

func wordLength(text string) int {
	if i := strings.IndexAny(text, " \n"); i >= 0 {
		return i
	}
	return len(text)
}

// How long completing a file name may take, and how many names of a directory and of all below
// it are proposed.
const (
	completeWait = 40 * time.Millisecond
	maxNames     = 1000
	maxFound     = 50
)

// complete proposes the files that the @ word before the cursor may be meant to name, as many
// as it finds while wait lasts. A word without a slash that no name here begins with is looked
// for below.
func (a fileAccess) complete(text string, cursor int, wait time.Duration) prompt.Completion {
	w, ok := wordAt(text[:cursor])
	if !ok || a.env.Files == nil {
		return prompt.Completion{}
	}
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	c := prompt.Completion{From: w.from, To: cursor}
	after := text[cursor:]
	if w.quoted && strings.HasPrefix(after, `"`) {
		c.To, after = c.To+1, after[1:]
	}
	dir, entries := a.entries(ctx, w.path)
	for _, e := range entries {
		c.Candidates = append(c.Candidates, w.candidate(dir, e, strings.HasPrefix(after, " ")))
	}
	return c
}

func wordAt(text string) (atWord, bool) {
	if strings.HasSuffix(text, "@") && beginsWord(text[:len(text)-1]) {
		return atWord{from: len(text) - 1, to: len(text)}, true
	}
	words := atWords(text, nil)
	if len(words) == 0 {
		return atWord{}, false
	}
	w := words[len(words)-1]
	return w, w.to == len(text) && !w.literal && w.quoted == w.open
}

// entries finds completions of the path; dir is the part of the path that stays.
func (a fileAccess) entries(ctx context.Context, path string) (dir string, entries []search.Entry) {
	cut := strings.LastIndexByte(path, '/') + 1
	dir, prefix := path[:cut], path[cut:]
	if prefix == ".." {
		return dir, []search.Entry{{Path: prefix, Dir: true}}
	}
	from := a.env.Dir
	if dir != "" {
		from = a.abs(dir)
	}
	// A directory that is missing, denied or outside proposes nothing, and there
	// is no place to say so while someone types.
	entries, err := search.Names(ctx, a.env.Files, from, prefix, maxNames)
	if err == nil && len(entries) == 0 && dir == "" {
		entries, err = search.Find(ctx, a.env.Files, from, prefix, maxFound)
	}
	if err != nil {
		return dir, nil
	}
	return dir, entries
}

// candidate is the entry as the word would be written; a directory is left open.
func (w atWord) candidate(dir string, e search.Entry, blank bool) prompt.Candidate {
	path := dir + e.Path
	if e.Dir {
		path += "/"
	}
	c := prompt.Candidate{Text: "@" + escapeAt(path, w.quoted)}
	if w.quoted {
		c.Text = `@"` + escapeAt(path, true)
	}
	if !e.Dir {
		if w.quoted {
			c.Text += `"`
		}
		if !blank {
			c.Text += " "
		}
	}
	if e.Ignored {
		c.Help = "ignored"
	}
	return c
}
