package permission

// readingNames are the commands of the @read group, in the order of their
// documentation; git and `TOOL --version` are lists of their own.
func readingNames() []string {
	return []string{"ls", "tree", "find", "fd", "fdfind", "du", "stat", "file", "realpath", "readlink", "basename", "dirname", "pwd", "cd",
		"cat", "tac", "head", "tail", "nl", "wc", "grep", "egrep", "fgrep", "rg", "sed", "cut", "paste", "join", "column", "fold", "expand",
		"unexpand", "tr", "rev", "sort", "comm", "diff", "cmp", "od", "xxd", "hexdump", "strings", "base64", "cksum", "sum", "md5sum", "sha1sum",
		"sha224sum", "sha256sum", "sha384sum", "sha512sum", "b2sum", "shasum", "echo", "printf", "test", "[", "[[", "true", "false", ":", "which",
		"type", "command", "seq", "sleep", "expr", "date", "uname", "arch", "nproc", "whoami", "id", "groups", "hostname", "uptime", "df",
		"free", "tty", "printenv", "man", "go"}
}

// readingOf is the list of the @read group. An option that is missing here is
// not forbidden: it is asked about.
func readingOf(name string) (reading, bool) {
	for _, list := range []func(string) (reading, bool){readsNames, readsText, readsSums, readsNothing, readsMachine} {
		if r, ok := list(name); ok {
			return r, true
		}
	}
	return reading{}, false
}

// readsNames are commands that tell names and sizes.
func readsNames(name string) (reading, bool) {
	switch name {
	case "ls":
		return reading{flags: "aAbBcCdfFgGhHiklmnNopqQrRsStTuUvxXZ1", values: "Iw", long: "all almost-all author escape block-size= ignore-backups color? " +
			"directory classify? file-type format= full-time group-directories-first no-group human-readable si dereference-command-line hide= " +
			"hyperlink? indicator-style= inode ignore= kibibytes numeric-uid-gid literal hide-control-chars show-control-chars quote-name " +
			"quoting-style= reverse recursive size sort= time= time-style= tabsize= width= context zero", note: "not -L, which follows links"}, true
	case "tree":
		return reading{flags: "adfixsuhgpDFvtcUrnCASNqQJX", values: "LPI", risky: true, long: "noreport dirsfirst filesfirst prune gitignore du si inodes device " +
			"matchdirs ignore-case metafirst filelimit= charset= sort= timefmt=", note: "not -o, -R, -l"}, true
	case "find":
		return reading{risky: true, check: (*Policy).findCommand, note: "only tests, -print, -printf, -ls, -prune; not -L, -exec, -delete, -fprint"}, true
	case "fd", "fdfind":
		return reading{flags: "HIusiFapg0l1qV", values: "tedESc", pattern: true, risky: true, long: "hidden no-ignore no-ignore-vcs case-sensitive ignore-case " +
			"glob fixed-strings absolute-path full-path type= extension= max-depth= min-depth= exact-depth= exclude= color= max-results= size= " +
			"changed-within= changed-before= print0 quiet", note: "not -x, -X, -L"}, true
	case "du":
		return reading{flags: "0abchklmsSx", values: "dBt", long: "all apparent-size bytes total human-readable si summarize max-depth= block-size= " +
			"exclude= threshold= inodes separate-dirs one-file-system time? time-style= null"}, true
	case "stat":
		return reading{any: true}, true
	case "file":
		return reading{flags: "bhikLNn0E", risky: true, long: "brief mime mime-type mime-encoding dereference no-dereference keep-going no-pad extension"}, true
	case "realpath":
		return reading{flags: "emLPqsz", long: "canonicalize-existing canonicalize-missing logical physical quiet strip no-symlinks zero relative-to=@ relative-base=@"}, true
	case "readlink":
		return reading{flags: "femnqsvz", long: "canonicalize canonicalize-existing canonicalize-missing no-newline quiet silent verbose zero"}, true
	case "basename":
		return reading{flags: "az", values: "s", pathless: true, globless: true, long: "multiple suffix= zero"}, true
	case "dirname":
		return reading{flags: "z", pathless: true, globless: true, long: "zero"}, true
	case "pwd":
		return reading{any: true}, true
	case "cd":
		return reading{}, true
	}
	return reading{}, false
}

// readsText are commands that show what is in files.
func readsText(name string) (reading, bool) {
	switch name {
	case "cat":
		return reading{flags: "AbeEnstTuvl", long: "show-all number-nonblank show-ends number squeeze-blank show-tabs show-nonprinting"}, true
	case "tac":
		return reading{flags: "br", values: "s", long: "before regex separator="}, true
	case "head", "tail":
		return reading{flags: "qvz", values: "nc", numbers: true, long: "lines= bytes= quiet silent verbose zero-terminated", note: "not -f"}, true
	case "nl":
		return reading{flags: "p", values: "bdfhilnsvw", long: "body-numbering= section-delimiter= footer-numbering= header-numbering= " +
			"line-increment= join-blank-lines= number-format= no-renumber number-separator= starting-line-number= number-width="}, true
	case "wc":
		return reading{flags: "clmwL", long: "bytes chars lines words max-line-length total="}, true
	case "grep", "egrep", "fgrep":
		return grepReading(), true
	case "rg":
		return rgReading(), true
	case "sed":
		return reading{risky: true, check: (*Policy).sedReads, note: "scripts of addresses, p = l q d n s (not its e and w), option -n -E -r -s -u -z -e; not -i, -f"}, true
	case "cut":
		return reading{flags: "nsz", values: "bcdf", long: "bytes= characters= delimiter= fields= complement only-delimited output-delimiter= zero-terminated"}, true
	case "paste":
		return reading{flags: "sz", values: "d", long: "serial delimiters= zero-terminated"}, true
	case "join":
		return reading{flags: "iz", values: "aevjot12", long: "ignore-case check-order nocheck-order header zero-terminated"}, true
	case "column":
		return reading{flags: "tnxeJ", values: "scoNRH", long: "table separator= output-separator= table-columns= table-right= fillrows json"}, true
	case "fold":
		return reading{flags: "bs", values: "w", long: "bytes spaces width="}, true
	case "expand", "unexpand":
		return reading{flags: "ai", values: "t", long: "all initial tabs= first-only"}, true
	case "rev":
		return reading{}, true
	case "sort":
		return reading{flags: "bdfgiMhnrRVcCmsuz", values: "kt", risky: true, long: "ignore-leading-blanks dictionary-order ignore-case general-numeric-sort " +
			"human-numeric-sort month-sort numeric-sort random-sort reverse version-sort check? merge stable unique zero-terminated key= field-separator=",
			note: "not -o, -T, --compress-program"}, true
	case "comm":
		return reading{flags: "123iz", long: "check-order nocheck-order total zero-terminated output-delimiter="}, true
	case "diff":
		return diffReading(), true
	}
	return reading{}, false
}

// readsSums are commands that show or sum up the bytes of files.
func readsSums(name string) (reading, bool) {
	switch name {
	case "cmp":
		return reading{flags: "bls", values: "n", long: "print-bytes verbose quiet silent bytes="}, true
	case "od":
		return reading{flags: "abcdfilosxv", values: "AjNStw", long: "address-radix= skip-bytes= read-bytes= format= output-duplicates"}, true
	case "xxd":
		return reading{flags: "abCeEipu", values: "cglos", operands: 1, first: true, note: "not -r; one file: a second would be written"}, true
	case "hexdump":
		return reading{flags: "bcCdovx", values: "nse"}, true
	case "strings":
		return reading{flags: "a", values: "nt", long: "all bytes= radix="}, true
	case "base64":
		return reading{flags: "d", values: "w", operands: 1, long: "decode wrap="}, true
	case "cksum", "sum", "md5sum", "sha1sum", "sha224sum", "sha256sum", "sha384sum", "sha512sum", "b2sum":
		return reading{flags: "btz", long: "binary text tag zero", note: "not -c"}, true
	case "shasum":
		return reading{flags: "btUp", values: "a", long: "binary text algorithm=", note: "not -c"}, true
	}
	return reading{}, false
}

// readsNothing are commands that tell of what they are given, or tell nothing.
func readsNothing(name string) (reading, bool) {
	switch name {
	case "echo":
		return reading{pathless: true, soft: true, note: "also of harmless variables such as $HOME and $?, and of the output of reading commands"}, true
	case "printf":
		return reading{pathless: true, globless: true, soft: true, check: (*Policy).printfReads, note: "not -v, not %n"}, true
	case "test", "[", "[[":
		return reading{globless: true, soft: true, check: (*Policy).testReads, note: "not -v; numbers are compared only where both are plain"}, true
	case "true", "false", ":", "which", "type":
		return reading{pathless: true, globless: true}, true
	case "command":
		// With another command behind it it is opened and judged by that.
		return reading{pathless: true, globless: true, note: "-v and -V"}, true
	case "tr":
		return reading{flags: "cCdstu", pathless: true, globless: true, long: "complement delete squeeze-repeats truncate-set1"}, true
	case "seq":
		return reading{flags: "w", values: "fs", numbers: true, pathless: true, globless: true, long: "equal-width format= separator="}, true
	case "sleep", "expr":
		return reading{pathless: true, globless: true}, true
	case "go":
		return reading{check: (*Policy).goReads, globless: true, note: "version, env NAME…; list and doc where nothing has to be fetched"}, true
	}
	return reading{}, false
}

// readsMachine are commands that tell of the machine.
func readsMachine(name string) (reading, bool) {
	switch name {
	case "date":
		return reading{pathless: true, globless: true, check: (*Policy).dateReads, note: "not -s, -f; operands begin with +"}, true
	case "uname":
		return reading{flags: "asnrvmpio", pathless: true, globless: true, long: "all kernel-name nodename kernel-release kernel-version machine processor " +
			"hardware-platform operating-system"}, true
	case "nproc":
		return reading{pathless: true, globless: true, long: "all ignore="}, true
	case "arch", "whoami", "tty":
		return reading{pathless: true, globless: true, check: (*Policy).aloneReads, note: "without words"}, true
	case "hostname", "uptime":
		return reading{pathless: true, globless: true, check: (*Policy).aloneReads, note: "without words: others can set it"}, true
	case "id", "groups":
		return reading{flags: "agGnruz", pathless: true, globless: true, long: "group groups name real user zero"}, true
	case "df":
		return reading{flags: "ahHiklmPT", values: "tx", long: "all human-readable si inodes local portability print-type type= exclude-type= total"}, true
	case "free":
		return reading{flags: "bkmghtwv", pathless: true, globless: true, long: "bytes kibi mebi gibi human total wide"}, true
	case "printenv":
		return reading{pathless: true, globless: true, check: (*Policy).printenvReads, note: "of harmless variables"}, true
	case "man":
		return reading{pathless: true, globless: true, check: (*Policy).manReads, note: "plain names of pages"}, true
	case "git":
		return reading{risky: true, check: (*Policy).gitCommandReads}, true
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
		recursive: "r R d recursive dereference-recursive directories", selects: grepSelects,
		long: "extended-regexp fixed-strings basic-regexp perl-regexp ignore-case no-ignore-case invert-match word-regexp line-regexp count " +
			"files-with-matches files-without-match quiet silent no-messages only-matching byte-offset line-number no-filename with-filename " +
			"null null-data initial-tab text recursive dereference-recursive line-buffered color? colour? regexp= max-count= after-context= " +
			"before-context= context=@ include= exclude= exclude-dir= binary-files= file=@ exclude-from=@ directories=@ devices=@"}
}

func rgReading() reading {
	return reading{flags: "iSswxvnNlcoHIhFPUqaL.u0p", values: "ABCmjMegtTrdE", files: "f", pattern: true, recursive: "*",
		selects: rgSelects, risky: true, note: "not --pre, -z, --hostname-bin, --ignore-file",
		long: "ignore-case smart-case case-sensitive word-regexp line-regexp invert-match line-number no-line-number files files-with-matches " +
			"files-without-match count count-matches only-matching with-filename no-filename fixed-strings pcre2 multiline multiline-dotall " +
			"quiet text hidden no-ignore no-ignore-vcs heading no-heading column trim json stats vimgrep follow null pretty passthru " +
			"type-list after-context= before-context= context= max-count= glob= iglob= type= type-not= replace= max-depth= max-columns= " +
			"max-filesize= regexp= sort= sortr= color= encoding= threads= no-messages no-config file=@"}
}
