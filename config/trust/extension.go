package trust

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

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
	if rules := strings.Join(append(slices.Clone(h.Match), h.Matcher), " "); strings.TrimSpace(rules) != "" {
		e.Name += " of " + strings.TrimSpace(rules)
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
	e.finish(root, s.Dir, s, append([]string{s.TokenCommand}, s.Command...))
	return e
}

// finish sums up what an extension is, and the files of the project that its texts name.
func (e *Extension) finish(root, dir string, value any, texts []string) {
	sum := sha256.New()
	data, err := json.Marshal(value)
	if err != nil { // a map of strings always has a form
		data = fmt.Append(nil, err)
	}
	sum.Write(data)
	for _, name := range named(root, dir, texts) {
		fmt.Fprintf(sum, "\n%q ", name)
		e.Files, e.Details = append(e.Files, name), append(e.Details, "it names "+name)
		if err := copyFile(sum, root, name); err != nil {
			fmt.Fprintf(sum, "%v", err)
		}
	}
	e.Sum = hex.EncodeToString(sum.Sum(nil))
}

// named are the project's files that texts name, relative to its root, each once.
func named(root, dir string, texts []string) (names []string) {
	project := strings.NewReplacer("${CLAUDE_PROJECT_DIR}", root, "$CLAUDE_PROJECT_DIR", root, `"`, "", "'", "", `\`, "")
	for _, text := range texts {
		words := strings.FieldsFunc(project.Replace(text), func(r rune) bool { return strings.ContainsRune(" \t\n;&|<>()=`,", r) })
		for _, word := range append(words, project.Replace(text)) {
			for _, base := range []string{root, dir} {
				at := word
				if !filepath.IsAbs(at) {
					at = filepath.Join(base, word)
				}
				name, err := filepath.Rel(root, at)
				if err != nil || base == "" || !filepath.IsLocal(name) || slices.Contains(names, name) {
					continue
				}
				if info, err := os.Stat(at); err == nil && info.Mode().IsRegular() {
					names = append(names, name)
				}
			}
		}
	}
	return names
}

// copyFile writes the content of a regular file below root.
func copyFile(to io.Writer, root, name string) error {
	at, err := os.OpenRoot(root)
	if err != nil {
		return err
	}
	defer at.Close()
	f, err := at.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(to, io.LimitReader(f, mostBytes))
	return err
}

// Approval is what the user said of an extension of a project.
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

// Approvals are all answers about extensions, the oldest first; none without a file.
func (s Store) Approvals() ([]Approval, error) {
	c, err := s.read()
	return c.Approvals, err
}

// Approve remembers an answer about an extension of the project at root.
func (s Store) Approve(root string, e Extension, yes bool, at time.Time) error {
	c, err := s.read()
	if err != nil {
		return err
	}
	same := func(a Approval) bool { return a.Root == root && a.Sum == e.Sum }
	list := slices.DeleteFunc(c.Approvals, same)
	ofRoot := func(a Approval) bool { return a.Root == root }
	if count := len(slices.DeleteFunc(slices.Clone(list), func(a Approval) bool { return !ofRoot(a) })); count >= mostApprovals {
		oldest := slices.IndexFunc(list, ofRoot)
		list = slices.Delete(list, oldest, oldest+1)
	}
	c.Approvals = append(list, Approval{Root: root, What: e.Kind + " " + e.Name, Command: e.Command, Sum: e.Sum, Approved: yes, At: at})
	return s.write(c)
}
