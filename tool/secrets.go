package tool

import (
	"bytes"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// secret says why the target is on the deny list ("holds …"), "" if it is not.
// Names count in any spelling of case, and the target is the end of all links.
func (f *Files) secret(t target) string {
	for _, denied := range f.deny {
		if _, ok := under(FoldName(denied), FoldName(t.Abs)); ok {
			return "holds artoo's own credentials"
		}
	}
	if f.testKey(t) {
		return ""
	}
	inside := filepath.ToSlash(FoldName(t.rel))
	if why := secretName(inside, filepath.ToSlash(FoldName(t.Abs))); why != "" {
		return why
	}
	if marks := secretMarks(path.Base(inside)); marks != nil && t.holds(marks) {
		return "holds a key or token"
	}
	if name := f.otherName(t); name != "" {
		return "is another name of " + name + ", which may hold secrets"
	}
	return ""
}

// deniedName says whether the absolute path abs is denied by its name alone, as a
// directory is, with all beneath it.
func (f *Files) deniedName(abs string) bool {
	g, _ := f.grantOf(abs, false)
	if g == nil {
		return true
	}
	folded := FoldName(abs)
	for _, denied := range f.deny {
		if _, ok := under(FoldName(denied), folded); ok {
			return true
		}
	}
	rel, _ := g.covers(abs)
	return secretName(filepath.ToSlash(FoldName(rel)), filepath.ToSlash(folded)) != ""
}

// Reopened reports whether a rule of the user's opens a denied file to a question:
// the read tool may read it once it was asked about. Artoo's own credentials stay
// closed.
func (f *Files) Reopened(abs string) bool {
	if f.asked == nil || !f.asked(abs) {
		return false
	}
	for _, denied := range f.deny {
		if _, ok := under(FoldName(denied), FoldName(abs)); ok {
			return false
		}
	}
	return true
}

// ResolveRead is Resolve for the read tool, to which a file is not denied that a
// rule of the user's reopens.
func (f *Files) ResolveRead(path string) (Place, error) {
	t, err := f.resolveRead(path)
	return t.Place, err
}

func (f *Files) resolveRead(path string) (target, error) {
	t, err := f.resolve(path, false)
	if err == nil && t.Denied && f.Reopened(t.Abs) {
		t.Denied, t.Why = false, ""
	}
	return t, err
}

// secretMarks lists what makes a file of this folded name, or a copy of one, a
// secret if it holds one of them; nil for most names.
func secretMarks(base string) (marks []string) {
	ofCopy(base, func(original string) string {
		if marks == nil {
			marks = originalMarks(original)
		}
		return ""
	})
	return marks
}

func originalMarks(base string) []string {
	switch base {
	case ".npmrc":
		return []string{"_authToken", "_auth", "_password"}
	case ".yarnrc.yml", ".yarnrc":
		return []string{"npmAuthToken", "npmAuthIdent", "_authToken", "_password"}
	}
	switch path.Ext(base) {
	case ".pem", ".key", ".p8", ".asc":
		return []string{"PRIVATE KEY", "\x30\x82"}
	case "":
		for _, kind := range []string{"_rsa", "_dsa", "_ecdsa", "_ed25519"} {
			if strings.HasSuffix(base, kind) {
				return []string{"PRIVATE KEY"}
			}
		}
	}
	return nil
}

// sniffMax is how far into a file the marks are looked for.
const sniffMax = 1 << 20

// holds reports whether the file holds one of the marks. A mark of raw DER only
// counts at the beginning.
func (t target) holds(marks []string) bool {
	file, err := t.grant.root.OpenFile(t.rel, os.O_RDONLY|openFlags, 0)
	if err != nil {
		return false // what cannot be opened cannot be read either
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return false
	}
	head, err := io.ReadAll(io.LimitReader(file, sniffMax))
	if err != nil {
		return true // half-read: fail closed
	}
	for _, mark := range marks {
		if mark[0] < ' ' || mark[0] == '0' {
			if bytes.HasPrefix(head, []byte(mark)) {
				return true
			}
		} else if bytes.Contains(head, []byte(mark)) {
			return true
		}
	}
	return false
}
