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
	"unicode"
	"unicode/utf8"

	"artoo/tool/extension"
)

// Summed is an extension with its sum and the files of the project that it names.
func Summed(e extension.Extension) extension.Extension {
	sum := sha256.New()
	data, err := json.Marshal(e.Whole)
	if err != nil { // a map of strings always has a form
		data = fmt.Append(nil, err)
	}
	sum.Write(data)
	e.Details = slices.Clip(e.Details)
	for _, name := range named(e.Root, e.Dir, e.Texts) {
		e.Files, e.Details = append(e.Files, name), append(e.Details, "it names "+name)
		fmt.Fprintf(sum, "\n%q %s", name, sumOf(e.Root, name))
	}
	e.Sum = hex.EncodeToString(sum.Sum(nil))
	return e
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

// Approve remembers an answer about an extension, with its sum, of the project at root.
func (s Store) Approve(root string, e extension.Extension, yes bool, at time.Time) error {
	c, err := s.Read()
	if err != nil {
		return err
	}
	list := without(c.Approvals, mostApprovals, func(a Approval) (bool, bool) { return a.Root == root, a.Sum == e.Sum })
	c.Approvals = append(list, Approval{Root: root, What: string(e.Kind) + " " + e.Name, Command: e.Command, Sum: e.Sum, Approved: yes, At: at})
	return s.write(c)
}
