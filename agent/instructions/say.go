package instructions

import (
	"fmt"
	"path/filepath"
	"strings"

	"artoo/tool/names"
	"artoo/tool/text"
)

// add keeps a file in the list, with the words for people.
func (r *reader) add(f File) {
	f.Name = r.name(f.Path)
	f.Said, f.Try = r.words(f)
	r.found = append(r.found, f)
}

// name is a path as people read it: from the project's root, or from their home.
func (r *reader) name(path string) string {
	if rel, inside := names.Relative(r.Root, path); r.Root != "" && inside && !r.users(path) {
		return filepath.ToSlash(rel)
	}
	if rel, inside := names.Relative(r.Home, path); r.Home != "" && inside {
		return "~/" + filepath.ToSlash(rel)
	}
	return path
}

// words are what became of a file, and the next step.
func (r *reader) words(f File) (said, try string) {
	limit := text.Bytes(Limit)
	switch f.Why {
	case Used:
		said = "used, " + text.Bytes(int64(f.Sent))
	case Cut:
		said = fmt.Sprintf("used, but only its first %s of %s: all instruction files together have a limit of %s", text.Bytes(int64(f.Sent)),
			text.Bytes(f.Size), limit)
		try = "shorten it"
	case Damaged:
		said, try = "used, but some of its bytes are not UTF-8", "save it as UTF-8"
	case Empty:
		said = "not used: it is empty"
	case Pointer:
		said = "not used itself: it only names other files"
	case Copy:
		said = "not used again: it is the same as " + r.name(f.Of)
	case Full:
		said, try = "not used: the files before it fill the limit of "+limit, "shorten those"
	case Cycle:
		said = "not imported again: the imports form a cycle"
	case Deep:
		said, try = fmt.Sprintf("not used: more than %d imports deep", mostDeep), "import it in a file further up"
	case Missing:
		said, try = "not used: there is no such file", "correct the path"
	case Outside:
		said, try = "not used: it is outside the project", "copy it into the project"
		if r.users(f.By) {
			said, try = "not used: it is outside your configuration and the project", "link it into "+r.name(r.Config)
		}
	case Hidden:
		said, try = "not used: it may hold secrets", "name another file"
	case Binary:
		said, try = "not used: it is not a text file", "save it as UTF-8"
	case NoFile:
		said, try = "not used: it is not a regular file", "put a file in its place"
	case Unreadable:
		said, try = "not used: it cannot be read", "check its permissions"
	case Foreign:
		said = "not used: it is another agent's"
	case Spelling:
		said, try = "not used: its name differs in case from "+strings.ToUpper(strings.TrimSuffix(filepath.Base(f.Path), filepath.Ext(f.Path)))+".md",
			"rename it"
	case Waiting:
		said = "not used yet: it is for " + f.rule.String()
	case Malformed:
		said, try = "not used: "+f.rule.wrong, "correct its front matter"
	}
	if f.rule != nil && f.rule.touched != "" {
		said += "; for " + f.rule.String() + ", which " + r.name(f.rule.touched) + " matches"
	}
	if f.By != "" {
		said += "; imported by " + r.name(f.By)
	}
	return said, try
}
