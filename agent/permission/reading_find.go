package permission

import "strings"

// findReads judges find: where it starts, and what it does with what it finds.
// It tells names; only the starting points are checked.
func (p *Policy) findReads(dirs, words []string) (why string) {
	i := 0
	for ; i < len(words) && (words[i] == "-P" || words[i] == "-H"); i++ {
	}
	for ; i < len(words) && !isOption(words[i]) && !strings.Contains("(!)", words[i]); i++ {
		if why := p.mayReadNames(dirs, words[i]); why != "" {
			return why
		}
	}
	for ; i < len(words); i++ {
		w := words[i]
		if strings.Contains("(!),", w) && w != "" {
			continue
		}
		values, ok := findTest(strings.TrimPrefix(w, "-"))
		if !ok || !isOption(w) {
			return "find " + w + " is not known to do nothing but look"
		}
		i += values
	}
	return ""
}

// mayReadNames is mayRead for a directory of which only names are told.
func (p *Policy) mayReadNames(dirs []string, arg string) (why string) {
	for _, dir := range dirs {
		if p.Reach == nil {
			continue
		}
		if err := p.Reach(dir, arg, false); err != nil {
			return err.Error()
		}
	}
	return ""
}

// findTest tells how many words follow a test or action of find that does
// nothing but look.
func findTest(name string) (values int, ok bool) {
	switch name {
	case "name", "iname", "path", "ipath", "wholename", "iwholename", "regex", "iregex", "type", "xtype", "size", "mtime", "mmin",
		"atime", "amin", "ctime", "cmin", "newer", "anewer", "cnewer", "newermt", "newerct", "perm", "user", "group", "uid", "gid", "links", "inum",
		"lname", "ilname", "maxdepth", "mindepth", "printf", "regextype", "samefile":
		return 1, true
	case "print", "print0", "ls", "prune", "quit", "and", "or", "not", "a", "o", "true", "false", "empty", "executable",
		"readable", "writable", "mount", "xdev", "depth", "daystart", "nouser", "nogroup", "noleaf":
		return 0, true
	}
	return 0, false
}
