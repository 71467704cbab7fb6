// Package skill finds skills (directories with a SKILL.md), commands and agents (Markdown files) in
// the places where people keep them, and expands a command's arguments. It runs nothing and grants
// nothing.
package skill

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/pelletier/go-toml/v2"

	"artoo/tool/extension"
	"artoo/tool/files"
	"artoo/tool/frontmatter"
	"artoo/tool/text"
)

// Place is a directory that holds files of one kind.
type Place struct {
	Kind extension.Kind
	// Origin has the name of the directory for messages, such as ~/.agents/skills. Items of the policy cannot be hidden;
	// those of a bundle can name its root.
	extension.Origin
	Dir string // absolute
	// Taken has the contents of the files by their paths below Dir, with slashes, as they were
	// trusted. nil reads Dir, and follows its links.
	Taken map[string][]byte
	// Only is the one file that counts, a path below Dir with slashes; "" for all.
	Only string
}

// Item is a skill, a command or an agent. Its texts are unsanitised and of one line.
type Item struct {
	Kind        extension.Kind
	Name        string
	Description string   // "" where a command has none
	Hint        string   // a command's arguments, for people; may be ""
	Model       string   // the model that a command or an agent asks for; "" for any
	Agent       string   // the agent that a command is for; "" for none
	Tools       []string // an agent's tools as they are written; nil for all
	Without     []string // the tools that an agent must not have, as they are written
	Plan        bool     // an agent that only reads, whatever the mode
	Unused      []string // the keys of its head that other programs obey, and that have no meaning here
	// NoModel means that the model must not load a skill, NoUser that it is no slash command.
	NoModel, NoUser bool
	Place           Place
	File            string // absolute
	rel             string // below Place.Dir, with slashes
}

// Dir is the directory of a skill, absolute.
func (i Item) Dir() string { return filepath.Dir(i.File) }

// Source names the file for messages.
func (i Item) Source() string { return path.Join(i.Place.Place, i.rel) }

// Body is the text below the front matter, read now unless it was trusted before. It is for Expand.
func (i Item) Body() (string, error) {
	data, size, err := i.Place.read(i.rel, mostBytes, nil)
	if err != nil {
		return "", fmt.Errorf("%s: %w", i.Source(), cause(err))
	}
	if size > mostBytes {
		return "", fmt.Errorf("%s: %w", i.Source(), errTooLong)
	}
	_, body, err := split(i.rel, data)
	if err != nil {
		return "", fmt.Errorf("%s %w", i.Source(), err)
	}
	return strings.TrimSpace(body), nil
}

// Text is the body of a skill or an agent as the model gets it, with the directories that it names.
func (i Item) Text() (string, error) {
	body, err := i.Body()
	dirs := i.dirs()
	var b strings.Builder
	for {
		at := strings.IndexByte(body, '$')
		if at < 0 {
			break
		}
		b.WriteString(body[:at])
		dir, n := directoryAt(dirs, body[at:])
		if n == 0 {
			dir, n = "$", 1
		}
		b.WriteString(dir)
		body = body[at+n:]
	}
	return b.String() + body, err
}

// Files lists up to most files of a skill's directory besides SKILL.md, relative to it and with
// slashes, and reports whether there are more.
func (i Item) Files(most int) (list []string, more bool) {
	if i.Place.Taken != nil {
		dir := path.Dir(i.rel) + "/"
		for name := range i.Place.Taken {
			if rel, ok := strings.CutPrefix(name, dir); ok && name != i.rel {
				list = append(list, rel)
			}
		}
		slices.Sort(list)
		return list[:min(len(list), most)], len(list) > most
	}
	dirs := 0
	// A directory that cannot be read has no files to name.
	// The slash has a linked one followed.
	_ = filepath.WalkDir(i.Dir()+string(filepath.Separator), func(at string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return fs.SkipDir
		case d.IsDir() && at != i.Dir() && skipped(d.Name()):
			return fs.SkipDir
		case d.IsDir():
			if dirs++; dirs > mostDirs {
				return fs.SkipAll
			}
			return nil
		case at == i.File:
			return nil
		case len(list) == most:
			more = true
			return fs.SkipAll
		}
		rel, err := filepath.Rel(i.Dir(), at)
		if err == nil {
			list = append(list, filepath.ToSlash(rel))
		}
		return nil
	})
	return list, more
}

// The bounds of a search in one place.
const (
	mostItems = 500
	mostBytes = 256 << 10 // a file's
	mostDirs  = 2000
	mostDepth = 5       // of directories below the place
	headBytes = 4 << 10 // A file's first bytes are read first.
)

// file is the name of a skill's file.
const file = "SKILL.md"

var errTooLong = fmt.Errorf("longer than %s", text.Bytes(mostBytes))

func skipped(name string) bool { return name == ".git" || name == "node_modules" }

func cause(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}

// read is at most the first n bytes of a file, and how many bytes it has. At a start it reads many files, so it
// calls the system itself: package os has twice as many calls. The data may lie in buf.
func (p Place) read(rel string, n int, buf []byte) (data []byte, size int, err error) {
	if p.Taken != nil {
		data, ok := p.Taken[rel]
		if !ok {
			return nil, 0, fs.ErrNotExist
		}
		return data[:min(len(data), n)], len(data), nil
	}
	at := filepath.Join(p.Dir, filepath.FromSlash(rel))
	fd, err := again(func() (int, error) { return syscall.Open(at, syscall.O_RDONLY|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0) }) // A FIFO is not waited for.
	if err != nil {
		return nil, 0, err
	}
	defer syscall.Close(fd)
	var info syscall.Stat_t
	if err := syscall.Fstat(fd, &info); err != nil {
		return nil, 0, err
	}
	if info.Mode&syscall.S_IFMT != syscall.S_IFREG {
		return nil, 0, errors.New("not a regular file")
	}
	if n = int(min(int64(n), info.Size)); n > len(buf) {
		buf = make([]byte, n)
	}
	data = buf[:n]
	for at := 0; at < len(data); {
		got, err := again(func() (int, error) { return syscall.Read(fd, data[at:]) })
		switch {
		case err != nil:
			return nil, 0, err
		case got == 0: // It has become shorter.
			data = data[:at]
		}
		at += got
	}
	return data, int(info.Size), nil
}

// again repeats a system call until no signal interrupts it.
func again(call func() (int, error)) (n int, err error) {
	for {
		if n, err = call(); err != syscall.EINTR {
			return n, err
		}
	}
}

// geminiExt ends the file of a command of a Gemini extension, which is TOML.
const geminiExt = ".toml"

// split returns the parsed head of a file, and the body.
func split(rel string, data []byte, keys ...string) (frontmatter.Head, string, error) {
	body, err := files.TextOf(data)
	if err != nil {
		return nil, "", err
	}
	data = []byte(body)
	if path.Ext(rel) != geminiExt {
		return frontmatter.Split(data, keys...)
	}
	var c struct {
		Prompt      string `toml:"prompt"`
		Description string `toml:"description"`
	}
	if err := toml.Unmarshal(data, &c); err != nil {
		line := 1
		if e, ok := errors.AsType[*toml.DecodeError](err); ok {
			line, _ = e.Position()
		}
		return nil, "", fmt.Errorf("line %d: %s", line, strings.TrimPrefix(err.Error(), "toml: "))
	}
	if strings.TrimSpace(c.Prompt) == "" {
		return nil, "", errors.New("line 1: there is no prompt")
	}
	return frontmatter.Head{"description": c.Description}, c.Prompt, nil
}

// head is a file up to the end of its front matter, and how many bytes the file has. The data may lie in buf.
func (p Place) head(rel string, buf []byte) (data []byte, size int, err error) {
	n := headBytes
	if path.Ext(rel) == geminiExt { // The description may stand below the prompt.
		return p.read(rel, mostBytes, buf)
	}
	for ; ; n = mostBytes {
		if data, size, err = p.read(rel, n, buf); err != nil {
			return nil, 0, err
		}
		if files.CharsetOf(data).Wide() != nil && n < mostBytes {
			continue
		}
		if end := bytes.Index(data, []byte("\n---")); end > 0 {
			if next := bytes.IndexByte(data[end+1:], '\n'); next >= 0 {
				return data[:end+1+next+1], size, nil
			}
		}
		if size <= n || n == mostBytes || !bytes.HasPrefix(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")), []byte("---")) {
			return data, size, nil
		}
	}
}

// list returns the sorted paths of the files that may be items, and notices of those left out.
func (p Place) list() (rels []string, notices []string) {
	if p.Only != "" {
		return []string{p.Only}, nil
	}
	tooDeep := "" // the first directory that is left out for that
	if p.Taken != nil {
		for rel := range p.Taken {
			if p.fits(rel) {
				rels = append(rels, rel)
			}
		}
	} else {
		w := walk{place: p}
		w.dir("", 0)
		rels, tooDeep = w.rels, w.tooDeep
		if w.dirs > mostDirs {
			notices = append(notices, fmt.Sprintf("%s: more than %s directories; the rest is left out", p.Place, text.Grouped(mostDirs)))
		}
	}
	slices.Sort(rels)
	if p.Kind == extension.KindSkill { // Files in a skill's directory belong to it.
		rels = slices.DeleteFunc(rels, func(rel string) bool {
			return slices.ContainsFunc(rels, func(other string) bool {
				return other != rel && strings.HasPrefix(rel, strings.TrimSuffix(other, file)) && other != file
			})
		})
	}
	rels = slices.DeleteFunc(rels, func(rel string) bool {
		parts := strings.Split(rel, "/")
		deep := len(parts) > mostDepth+1
		if deep {
			tooDeep = cmp.Or(tooDeep, path.Join(parts[:mostDepth+1]...))
		}
		return deep
	})
	if tooDeep != "" {
		notices = append(notices, fmt.Sprintf("%s: more than %d directories deep, so left out", path.Join(p.Place, tooDeep), mostDepth))
	}
	if len(rels) > mostItems {
		notices = append(notices, fmt.Sprintf("%s: %s; only the first %d are read", p.Place,
			text.Count(len(rels), "file"), mostItems))
		rels = rels[:mostItems]
	}
	return rels, notices
}

func (p Place) fits(rel string) bool {
	parts := strings.Split(rel, "/")
	if slices.ContainsFunc(parts, skipped) {
		return false
	}
	if p.Kind == extension.KindSkill {
		return len(parts) > 1 && parts[len(parts)-1] == file
	}
	return strings.HasSuffix(rel, ".md") && !strings.HasPrefix(parts[len(parts)-1], ".")
}

type walk struct {
	place Place
	rels  []string
	dirs  int
	// tooDeep is the first directory that is not looked into since it lies too deep; "" for none.
	tooDeep string
}

// dir looks through a directory below the place's. One that cannot be read holds nothing.
func (w *walk) dir(rel string, depth int) {
	if w.dirs++; w.dirs > mostDirs || len(w.rels) > mostItems {
		return
	}
	at := filepath.Join(w.place.Dir, filepath.FromSlash(rel))
	if w.place.Kind == extension.KindSkill && rel != "" {
		if _, err := os.Lstat(filepath.Join(at, file)); err == nil { // The directory is not read then: it costs four times as much.
			w.rels = append(w.rels, path.Join(rel, file))
			return
		}
	}
	entries, err := os.ReadDir(at)
	if err != nil {
		return
	}
	for _, e := range entries {
		at := path.Join(rel, e.Name())
		isDir := e.IsDir()
		if e.Type()&fs.ModeSymlink != 0 {
			info, err := os.Stat(filepath.Join(w.place.Dir, filepath.FromSlash(at)))
			isDir = err == nil && info.IsDir()
		}
		switch {
		case isDir && skipped(e.Name()):
		case isDir && depth < mostDepth:
			w.dir(at, depth+1)
		case isDir:
			w.tooDeep = cmp.Or(w.tooDeep, at)
		case !isDir && w.place.Kind != extension.KindSkill && w.place.fits(at):
			w.rels = append(w.rels, at)
		}
	}
}

// item reads the head of a file, with buf to hold it. The error says why it is skipped.
func (p Place) item(rel string, buf []byte) (Item, error) {
	i := Item{Kind: p.Kind, Place: p, rel: rel, File: filepath.Join(p.Dir, filepath.FromSlash(rel))}
	data, size, err := p.head(rel, buf)
	switch {
	case err != nil:
		return i, fmt.Errorf("%s: %w", i.Source(), cause(err))
	case size > mostBytes:
		return i, fmt.Errorf("%s: %w", i.Source(), errTooLong)
	}
	head, _, err := split(rel, data, append([]string{"name", "description", "argument-hint", "model", "agent", "tools",
		"permissionMode", "disable-model-invocation", "user-invocable"}, foreignKeys...)...)
	if err != nil {
		return i, fmt.Errorf("%s %w", i.Source(), err)
	}
	i.Description = line(head["description"])
	i.Hint, i.Model, i.Agent = line(head["argument-hint"]), line(head["model"]), line(head["agent"])
	i.NoModel, i.NoUser = truth(head["disable-model-invocation"], false), !truth(head["user-invocable"], true)
	if i.Model == "inherit" {
		i.Model = ""
	}
	switch p.Kind {
	case extension.KindSkill:
		i.Name = path.Base(path.Dir(rel))
		if name := line(head["name"]); validName(name) {
			i.Name = name
		}
	case extension.KindCommand:
		i.Name = strings.ReplaceAll(strings.TrimSuffix(rel, path.Ext(rel)), "/", ":")
	case extension.KindAgent:
		i.Name = strings.TrimSuffix(path.Base(rel), ".md")
		if name := line(head["name"]); validName(name) {
			i.Name = name
		}
		i.Tools, i.Without = words(head["tools"]), append(words(head["disallowedTools"]), words(head["disallowed-tools"])...)
		i.Plan = line(head["permissionMode"]) == "plan"
	}
	for _, key := range append([]string{"tools"}, foreignKeys...) {
		_, table := head[key].(frontmatter.Table)
		obeyed := key == "tools" || key == "context" && i.Agent != "" ||
			p.Kind == extension.KindAgent && strings.HasPrefix(key, "disallowed")
		if table || head[key] != nil && !obeyed {
			i.Unused = append(i.Unused, key)
		}
	}
	switch {
	case !validName(i.Name):
		return i, fmt.Errorf("%s: its name can have ASCII letters, digits, and . _ : - only", i.Source())
	case i.Description == "" && p.Kind != extension.KindCommand:
		return i, fmt.Errorf("%s: it has no description", i.Source())
	}
	i.Name = p.Full(i.Name)
	return i, nil
}

// foreignKeys are keys of heads that other programs obey, and artoo in agents at most.
var foreignKeys = []string{"disallowedTools", "disallowed-tools", "hooks", "maxTurns", "max_turns", "isolation", "skills", "mcpServers", "memory", "background",
	"effort", "context", "paths", "shell"}

func validName(name string) bool {
	return name != "" && len(name) <= 64 && strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:-") == ""
}

// line is a value as a text of one line; "" for none.
func line(v any) string {
	switch v := v.(type) {
	case string:
		return strings.Join(strings.Fields(v), " ")
	case []string: // To YAML, [issue] without quotes is a list.
		if len(v) == 1 {
			return "[" + line(v[0]) + "]"
		}
	}
	return ""
}

func truth(v any, otherwise bool) bool {
	if text, ok := v.(string); ok {
		return slices.Contains([]string{"true", "yes", "on", "1"}, strings.ToLower(text))
	}
	return otherwise
}

// words are the elements of a list, or those of a text between commas and spaces that stand in no
// parentheses; nil for neither.
func words(v any) []string {
	switch v := v.(type) {
	case []string:
		return v
	case string:
		return text.Outside(v, ", ")
	}
	return nil
}
