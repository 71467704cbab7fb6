package files

import (
	"bytes"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"artoo/tool/names"
)

// secret says why the target is on the deny list ("holds …"), "" if it is not.
// Names count in any spelling of case, and the target is the end of all links.
func (f *Files) secret(t Place) string {
	switch {
	case f.own(t.Abs):
		return "is artoo's own"
	case f.testKey(t):
		return ""
	}
	if why := f.secretItself(t); why != "" {
		return why
	}
	if name := f.otherName(t); name != "" {
		return "is another name of " + name + ", which may hold secrets"
	}
	return ""
}

// secretItself is secret by the target's own name and content.
func (f *Files) secretItself(t Place) string {
	inside := filepath.ToSlash(names.Fold(t.rel))
	if why := SecretName(inside, filepath.ToSlash(names.Fold(t.Abs))); why != "" {
		return why
	}
	if marks := secretMarks(path.Base(inside)); marks != nil && t.holds(marks) {
		return "holds a key or token"
	}
	return ""
}

// DeniedName says whether an absolute path is denied by its name alone, with all beneath it.
func (f *Files) DeniedName(abs string) bool {
	g, _ := f.grantOf(abs, false)
	if g == nil {
		return true
	}
	rel, _ := g.covers(abs)
	return f.own(abs) || SecretName(filepath.ToSlash(names.Fold(rel)), filepath.ToSlash(names.Fold(abs))) != ""
}

// own reports whether a path without links is one of DenyFiles, or is below one. A
// granted directory below one, such as the session's output directory, is open.
func (f *Files) own(abs string) bool {
	g, _ := f.grantOf(abs, false)
	return slices.ContainsFunc(f.deny, func(denied string) bool {
		denied = names.Fold(denied)
		_, within := names.Relative(denied, names.Fold(abs))
		if g == nil || !within {
			return within
		}
		_, open := names.Relative(denied, names.Fold(g.real))
		return !open
	})
}

// Reopened reports whether a rule of the user's opens a denied file, not artoo's own, to a question.
func (f *Files) Reopened(abs string) bool {
	return f.asked != nil && f.asked(abs) && !f.own(abs)
}

// ResolveRead is Resolve for the read tool, which may read a file that a rule reopens.
func (f *Files) ResolveRead(path string) (Place, error) {
	t, err := f.Resolve(path, false)
	if err == nil && t.Denied && f.Reopened(t.Abs) {
		t.Denied, t.Why = false, ""
	}
	return t, err
}

// secretMarks lists the content that makes a file of this folded name, or a copy of one, a secret; nil for none.
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

// holds reports whether the file holds a mark; one of raw DER counts at the beginning only.
func (t Place) holds(marks []string) bool {
	file, err := t.grant.root.OpenFile(t.rel, os.O_RDONLY|openFlags, 0)
	if err != nil {
		return false // The command cannot read it either.
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
