package agent

import "strings"

// readingOf is the list of the @read group, but for find and git. An option
// that is missing here is not forbidden: it is asked about.
func readingOf(name string) (reading, bool) {
	switch name {
	case "ls", "cat", "stat", "pwd":
		return reading{any: true}, true
	case "cd":
		return reading{}, true
	case "echo", "printf", "true", "false", "which", "type", "command":
		// command with another one behind it is opened and judged by that.
		return reading{pathless: true}, true
	case "head", "tail":
		return reading{flags: "qvz", values: "nc", numbers: true, long: "lines= bytes= quiet silent verbose zero-terminated"}, true
	case "wc":
		return reading{flags: "clmwL", long: "bytes chars lines words max-line-length total="}, true
	case "file":
		return reading{flags: "bhikLNn0E", long: "brief mime mime-type mime-encoding dereference no-dereference keep-going no-pad extension"}, true
	case "cut":
		return reading{flags: "nsz", values: "bcdf", long: "bytes= characters= delimiter= fields= complement only-delimited output-delimiter= zero-terminated"}, true
	case "uniq":
		return reading{flags: "cdDiuz", values: "fsw", operands: 1, long: "count repeated unique ignore-case skip-fields= skip-chars= check-chars= zero-terminated"}, true
	case "sort":
		return reading{flags: "bdfgiMhnrRVcCmsuz", values: "kt", long: "ignore-leading-blanks dictionary-order ignore-case general-numeric-sort " +
			"human-numeric-sort month-sort numeric-sort random-sort reverse version-sort check? merge stable unique zero-terminated key= field-separator="}, true
	case "diff":
		return diffReading(), true
	case "grep":
		return grepReading(), true
	case "rg":
		return rgReading(), true
	}
	return reading{}, false
}

// diffReading: two directories are compared file by file even without -r.
func diffReading() reading {
	return reading{flags: "abBdeEinNpqrstTuwyc", values: "CUWxIFLD", files: "XS", recursive: "*", numbers: true,
		long: "brief report-identical-files normal context? unified? ed rcs side-by-side width= left-column suppress-common-lines recursive " +
			"no-dereference new-file unidirectional-new-file text strip-trailing-cr ignore-case ignore-tab-expansion ignore-trailing-space " +
			"ignore-space-change ignore-all-space ignore-blank-lines minimal speed-large-files color? label= exclude= exclude-from=@ " +
			"ignore-matching-lines= show-c-function show-function-line= starting-file=@"}
}

// grepReading: -C takes a number in the next word with GNU, not with every BSD.
func grepReading() reading {
	return reading{flags: "EFGPivwxcLlqsonhHTUZzabyrRI", values: "ABme", files: "fCdD", pattern: true, numbers: true,
		recursive: "r R d recursive dereference-recursive directories",
		long: "extended-regexp fixed-strings basic-regexp perl-regexp ignore-case no-ignore-case invert-match word-regexp line-regexp count " +
			"files-with-matches files-without-match quiet silent no-messages only-matching byte-offset line-number no-filename with-filename " +
			"null null-data initial-tab text recursive dereference-recursive line-buffered color? colour? regexp= max-count= after-context= " +
			"before-context= context=@ include= exclude= exclude-dir= binary-files= file=@ exclude-from=@ directories=@ devices=@"}
}

func rgReading() reading {
	return reading{flags: "iSswxvnNlcoHIhFPUqaL.u0p", values: "ABCmjMegtTrdE", files: "f", pattern: true, recursive: "*",
		long: "ignore-case smart-case case-sensitive word-regexp line-regexp invert-match line-number no-line-number files files-with-matches " +
			"files-without-match count count-matches only-matching with-filename no-filename fixed-strings pcre2 multiline multiline-dotall " +
			"quiet text hidden no-ignore no-ignore-vcs heading no-heading column trim json stats vimgrep follow null pretty passthru " +
			"type-list after-context= before-context= context= max-count= glob= iglob= type= type-not= replace= max-depth= max-columns= " +
			"max-filesize= regexp= sort= sortr= color= encoding= threads= no-messages no-config file=@"}
}

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
