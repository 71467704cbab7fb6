package trust

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode"
	"unicode/utf8"

	"artoo/tool/extension"
)

// Extension is a server or hook that a repository supplies, as the user approves it: once.
type Extension struct {
	Kind    string   // "hook" or "server"
	Name    string   // "before_tool", or a server's name
	Command string   // the whole command, or the address
	Details []string // its variables, and the project's files that it names, a row each
	Files   []string // those of the project that it names, relative to the root
	Sum     string   // SHA-256 of all that it is, and of the content of these files, in hex
}

// OfHook describes a hook of the repository at root.
func OfHook(root string, h extension.Hook) Extension {
	e := Extension{Kind: "hook", Name: string(h.On), Command: h.String()}
	if calls := h.Calls(); calls != "" {
		e.Name += " of " + calls
	}
	if h.PassEnv != nil {
		e.Details = append(e.Details, "it gets the variables "+strings.Join(h.PassEnv, ", "))
	}
	h.Origin = extension.Origin{}
	e.finish(root, "", h, append([]string{h.Line}, h.Command...))
	return e
}

// OfServer describes an MCP server of the repository at root.
func OfServer(root string, s extension.Server) Extension {
	e := Extension{Kind: "server", Name: s.Name, Command: s.URL}
	if s.URL == "" {
		e.Command = strings.Join(s.Command, " ")
	}
	for _, set := range []map[string]string{s.Env, s.Headers} {
		for name, value := range set {
			e.Details = append(e.Details, name+" = "+value)
		}
	}
	slices.Sort(e.Details)
	if s.PassEnv != nil {
		e.Details = append(e.Details, "it gets the variables "+strings.Join(s.PassEnv, ", "))
	}
	if s.TokenCommand != "" {
		e.Details = append(e.Details, "its token comes from "+s.TokenCommand)
	}
	s.Origin = extension.Origin{}
	texts := append(slices.Collect(maps.Values(s.Env)), s.TokenCommand)
	e.finish(root, s.Dir, s, append(texts, s.Command...))
	return e
}

// finish sums up the extension's value, and the files of the project that its texts name.
func (e *Extension) finish(root, dir string, value any, texts []string) {
	sum := sha256.New()
	data, err := json.Marshal(value)
	if err != nil { // a map of strings always has a form
		data = fmt.Append(nil, err)
	}
	sum.Write(data)
	for _, name := range named(root, dir, texts) {
		e.Files, e.Details = append(e.Files, name), append(e.Details, "it names "+name)
		fmt.Fprintf(sum, "\n%q %s", name, sumOf(root, name))
	}
	e.Sum = hex.EncodeToString(sum.Sum(nil))
}

// named are the project's files that texts name, relative to its root, sorted: a file whose name
// stands in them, as do those of all directories between it and root, or dir. A shell line has more
// ways of putting a path together than can be read, and a file too many only asks once more.
func named(root, dir string, texts []string) (names []string) {
	unquoted := strings.NewReplacer(`"`, "", "'", "", `\`, "")
	plain := func(text string) string { return strings.ToLower(unquoted.Replace(text)) }
	text := plain(strings.Join(texts, "\n"))
	seen := map[string]bool{}
	var look func(at string)
	look = func(at string) {
		real, err := filepath.EvalSymlinks(at)
		name, err2 := filepath.Rel(root, real)
		if err != nil || err2 != nil || !filepath.IsLocal(name) || seen[real] {
			return // it leads out of the project, or was looked at
		}
		seen[real] = true
		entries, err := os.ReadDir(real)
		if err != nil {
			return // no line can name a file in it either
		}
		for _, entry := range entries {
			if !standsIn(text, plain(entry.Name())) {
				continue
			}
			switch info, err := os.Stat(filepath.Join(real, entry.Name())); {
			case err != nil:
			case info.IsDir():
				look(filepath.Join(real, entry.Name()))
			case info.Mode().IsRegular():
				names = append(names, filepath.Join(name, entry.Name()))
			}
		}
	}
	if resolved, err := filepath.EvalSymlinks(root); err == nil {
		root = resolved
	}
	look(root)
	if dir != "" {
		look(dir)
	}
	slices.Sort(names)
	return names
}

// standsIn reports whether a text has a name in it that is not a part of a longer word.
func standsIn(text, name string) bool {
	ofWord := func(r rune) bool { return r == '_' || r == '-' || unicode.IsLetter(r) || unicode.IsDigit(r) }
	for at := 0; ; at++ {
		next := strings.Index(text[at:], name)
		if next < 0 {
			return false
		}
		at += next
		before, _ := utf8.DecodeLastRuneInString(text[:at])
		after, _ := utf8.DecodeRuneInString(text[at+len(name):])
		if !ofWord(before) && !ofWord(after) {
			return true
		}
	}
}

// sumOf is the SHA-256 of a regular file below root, in hex, or why it cannot be read.
func sumOf(root, name string) string {
	at, err := os.OpenRoot(root)
	if err != nil {
		return reason(err)
	}
	defer at.Close()
	f, err := at.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return reason(err)
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return reason(err)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// Approval is the user's answer on an extension of a project.
type Approval struct {
	Root     string    `json:"root"`
	What     string    `json:"what"` // "hook before_tool"
	Command  string    `json:"command"`
	Sum      string    `json:"sum"`
	Approved bool      `json:"approved"`
	At       time.Time `json:"at"`
}

// mostApprovals is how many answers about extensions of one project are remembered.
const mostApprovals = 200

// Approve remembers an answer about an extension of the project at root.
func (s Store) Approve(root string, e Extension, yes bool, at time.Time) error {
	c, err := s.Read()
	if err != nil {
		return err
	}
	list := without(c.Approvals, mostApprovals, func(a Approval) (bool, bool) { return a.Root == root, a.Sum == e.Sum })
	c.Approvals = append(list, Approval{Root: root, What: e.Kind + " " + e.Name, Command: e.Command, Sum: e.Sum, Approved: yes, At: at})
	return s.write(c)
}
