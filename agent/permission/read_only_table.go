package permission

import (
	"slices"
	"strings"

	"artoo/agent/permission/line"
)

// trait is what is special about a reading command.
type trait int

const (
	anyOption    trait = 1 << iota // no option does harm
	numbers                        // -5 is an option
	optionsFirst                   // options end at its first plain word: what follows may be a file to write
	pathless                       // its words are no files
	patternFirst                   // its first plain word is a pattern, unless an option gives one
	globless                       // no word may be a glob: it could become a format, an operator or a file to write
	risky                          // other options of it write or execute: no glob may turn into one
	soft                           // a word of public variables and the output of reading commands does no harm
	special                        // its words are judged by judge, not by the options
)

// reading is a row of the @read group: commands with the options that only read.
// Listed are those that mean the same to GNU and BSD; one that is missing is
// not forbidden, it is asked about.
type readOnly struct {
	names  string
	flags  string // letters of options without a value
	values string // letters of options with a value that names no file
	files  string // letters of options with a value that may name one
	long   string // long options; "name=" takes a value, "name=@" one that may name a file, "name?" may have one
	// recursive are options (a letter or a long name each) that make it
	// descend; "*" when it may without any.
	recursive string
	// operands is how many plain words it may have, 0 for any: a further one
	// would be an output file.
	operands int
	is       trait
	not      string // words with which it does more than read; of a special one
	note     string // what of its options is not for reading, for the documentation
}

func (r readOnly) has(t trait) bool { return r.is&t != 0 }

// readOnlyCommands is the @read group, in the order of its documentation.
var readOnlyCommands = []readOnly{
	{names: "ls", flags: "aAbBcCdfFgGhHiklmnNopqQrRsStTuUvxXZ1", values: "Iw", note: "not -L, which follows links",
		long: `all almost-all author escape block-size= ignore-backups color? directory classify? file-type format=
			full-time group-directories-first no-group human-readable si dereference-command-line hide= hyperlink?
			indicator-style= inode ignore= kibibytes numeric-uid-gid literal hide-control-chars show-control-chars
			quote-name quoting-style= reverse recursive size sort= time= time-style= tabsize= width= context zero`},
	{names: "tree", flags: "adfixsuhgpDFvtcUrnCASNqQJX", values: "LPI", is: risky, note: "not -o, -R, -l",
		long: `noreport dirsfirst filesfirst prune gitignore du si inodes device matchdirs ignore-case metafirst
			filelimit= charset= sort= timefmt=`},
	{names: "find", is: risky | special, note: "not -exec, -ok, -delete, -fprint, -fls, -files0-from, -L, -follow",
		not: "-exec -execdir -ok -okdir -delete -fprint -fprint0 -fprintf -fls -files0-from -f -L -follow"},
	{names: "fd fdfind", flags: "HIusiFapg0l1qV", values: "tedESc", is: patternFirst | risky, note: "not -x, -X, -L",
		long: `hidden no-ignore no-ignore-vcs case-sensitive ignore-case glob fixed-strings absolute-path full-path
			type= extension= max-depth= min-depth= exact-depth= exclude= color= max-results= size= changed-within=
			changed-before= print0 quiet`},
	{names: "du", flags: "0abchklmsSx", values: "dBt",
		long: `all apparent-size bytes total human-readable si summarize max-depth= block-size= exclude= threshold=
			inodes separate-dirs one-file-system time? time-style= null`},
	{names: "stat", is: anyOption},
	{names: "file", flags: "bhikLNn0E", is: risky,
		long: `brief mime mime-type mime-encoding dereference no-dereference keep-going no-pad extension`},
	{names: "realpath", flags: "emLPqsz",
		long: `canonicalize-existing canonicalize-missing logical physical quiet strip no-symlinks zero relative-to=@
			relative-base=@`},
	{names: "readlink", flags: "femnqsvz",
		long: `canonicalize canonicalize-existing canonicalize-missing no-newline quiet silent verbose zero`},
	{names: "basename", flags: "az", values: "s", is: pathless | globless, long: "multiple suffix= zero"},
	{names: "dirname", flags: "z", is: pathless | globless, long: "zero"},
	{names: "pwd", is: anyOption},
	{names: "cd"},
	{names: "cat", flags: "AbeEnstTuvl",
		long: `show-all number-nonblank show-ends number squeeze-blank show-tabs show-nonprinting`},
	{names: "tac", flags: "br", values: "s", long: "before regex separator="},
	{names: "head tail", flags: "qvz", values: "nc", is: numbers, note: "not -f",
		long: `lines= bytes= quiet silent verbose zero-terminated`},
	{names: "nl", flags: "p", values: "bdfhilnsvw",
		long: `body-numbering= section-delimiter= footer-numbering= header-numbering= line-increment= join-blank-lines=
			number-format= no-renumber number-separator= starting-line-number= number-width=`},
	{names: "wc", flags: "clmwL", long: "bytes chars lines words max-line-length total="},
	// -C takes a number in the next word with GNU, not with every BSD.
	{names: "grep egrep fgrep", flags: "EFGPivwxcLlqsonhHTUZzabyrRI", values: "ABme", files: "fCdD",
		recursive: "r R d recursive dereference-recursive directories",
		is:        numbers | patternFirst,
		long: `extended-regexp fixed-strings basic-regexp perl-regexp ignore-case no-ignore-case invert-match
			word-regexp line-regexp count files-with-matches files-without-match quiet silent no-messages only-matching
			byte-offset line-number no-filename with-filename null null-data initial-tab text recursive
			dereference-recursive line-buffered color? colour? regexp= max-count= after-context= before-context= context=@
			include= exclude= exclude-dir= binary-files= file=@ exclude-from=@ directories=@ devices=@`},
	{names: "rg", flags: "iSswxvnNlcoHIhFPUqaL.u0p", values: "ABCmjMegtTrdE", files: "f", recursive: "*",
		is: patternFirst | risky, note: "not --pre, -z, --hostname-bin, --ignore-file",
		long: `ignore-case smart-case case-sensitive word-regexp line-regexp invert-match line-number no-line-number
			files files-with-matches files-without-match count count-matches only-matching with-filename no-filename
			fixed-strings pcre2 multiline multiline-dotall quiet text hidden no-ignore no-ignore-vcs heading no-heading
			column trim json stats vimgrep follow null pretty passthru type-list after-context= before-context= context=
			max-count= glob= iglob= type= type-not= replace= max-depth= max-columns= max-filesize= regexp= sort= sortr=
			color= encoding= threads= no-messages no-config file=@`},
	{names: "cut", flags: "nsz", values: "bcdf",
		long: `bytes= characters= delimiter= fields= complement only-delimited output-delimiter= zero-terminated`},
	{names: "paste", flags: "sz", values: "d", long: "serial delimiters= zero-terminated"},
	{names: "join", flags: "iz", values: "aevjot12",
		long: `ignore-case check-order nocheck-order header zero-terminated`},
	{names: "column", flags: "tnxeJ", values: "scoNRH",
		long: `table separator= output-separator= table-columns= table-right= fillrows json`},
	{names: "fold", flags: "bs", values: "w", long: "bytes spaces width="},
	{names: "expand unexpand", flags: "ai", values: "t", long: "all initial tabs= first-only"},
	{names: "tr", flags: "cCdstu", is: pathless | globless, long: "complement delete squeeze-repeats truncate-set1"},
	{names: "rev"},
	{names: "sort", flags: "bdfgiMhnrRVcCmsuz", values: "kt", is: risky, note: "not -o, -T, --compress-program",
		long: `ignore-leading-blanks dictionary-order ignore-case general-numeric-sort human-numeric-sort month-sort
			numeric-sort random-sort reverse version-sort check? merge stable unique zero-terminated key=
			field-separator=`},
	{names: "comm", flags: "123iz", long: "check-order nocheck-order total zero-terminated output-delimiter="},
	// Two directories are compared file by file even without -r.
	{names: "diff", flags: "abBdeEinNpqrstTuwyc", values: "CUWxIFLD", files: "XS", recursive: "*", is: numbers,
		long: `brief report-identical-files normal context? unified? ed rcs side-by-side width= left-column
			suppress-common-lines recursive no-dereference new-file unidirectional-new-file text strip-trailing-cr
			ignore-case ignore-tab-expansion ignore-trailing-space ignore-space-change ignore-all-space ignore-blank-lines
			minimal speed-large-files color? label= exclude= exclude-from=@ ignore-matching-lines= show-c-function
			show-function-line= starting-file=@`},
	{names: "cmp", flags: "bls", values: "n", long: "print-bytes verbose quiet silent bytes="},
	{names: "od", flags: "abcdfilosxv", values: "AjNStw",
		long: `address-radix= skip-bytes= read-bytes= format= output-duplicates`},
	{names: "xxd", flags: "abCeEipu", values: "cglos", operands: 1, is: optionsFirst,
		note: "not -r; one file: a second would be written"},
	{names: "hexdump", flags: "bcCdovx", values: "nse"},
	{names: "strings", flags: "a", values: "nt", long: "all bytes= radix="},
	{names: "base64", flags: "d", values: "w", operands: 1, long: "decode wrap="},
	{names: "cksum sum md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum", flags: "btz", note: "not -c",
		long: "binary text tag zero"},
	{names: "shasum", flags: "btUp", values: "a", note: "not -c", long: "binary text algorithm="},
	{names: "echo", is: pathless | soft,
		note: "also of public variables such as $HOME and $?, and of the output of reading commands"},
	{names: "test [ [[", is: pathless | globless | special, note: "not -v, -o; no numbers, no subscripts",
		not: "-v -R -o -eq -ne -lt -le -gt -ge"},
	{names: "true false : which type", is: pathless | globless},
	// With another command behind it it is opened and judged by that.
	{names: "command", is: pathless | globless, note: "-v and -V"},
	{names: "seq", flags: "w", values: "fs", is: numbers | pathless | globless,
		long: "equal-width format= separator="},
	{names: "sleep expr", is: pathless | globless},
	{names: "date", is: pathless | globless | special, note: "only -u, -R, -I; operands begin with +", not: "-s"},
	{names: "uname", flags: "asnrvmpio", is: pathless | globless,
		long: `all kernel-name nodename kernel-release kernel-version machine processor hardware-platform
			operating-system`},
	{names: "arch", is: pathless | globless | special, note: "without words"},
	{names: "nproc", is: pathless | globless, long: "all ignore="},
	{names: "whoami", is: pathless | globless | special, note: "without words"},
	{names: "id groups", flags: "agGnruz", is: pathless | globless, long: "group groups name real user zero"},
	{names: "hostname uptime", is: pathless | globless | special, note: "without words: others can set it"},
	{names: "df", flags: "ahHiklmPT", values: "tx",
		long: `all human-readable si inodes local portability print-type type= exclude-type= total`},
	{names: "free", flags: "bkmghtwv", is: pathless | globless, long: "bytes kibi mebi gibi human total wide"},
	{names: "tty", is: pathless | globless | special, note: "without words"},
	{names: "git", is: risky | special},
}

// readingOf is the row of a command; ok says that there is one.
func readOnlyRow(name string) (r readOnly, ok bool) {
	i := slices.IndexFunc(readOnlyCommands, func(r readOnly) bool { return line.In(r.names, name) })
	if i < 0 {
		return readOnly{}, false
	}
	return readOnlyCommands[i], true
}

// readOnlyNames are the commands of the @read group; git and `TOOL --version`
// are lists of their own.
func readOnlyNames() (names []string) {
	for _, r := range readOnlyCommands[:len(readOnlyCommands)-1] {
		names = append(names, strings.Fields(r.names)...)
	}
	return names
}

// ReadingDoc lists the commands of the @read group for the documentation, as
// Markdown.
func ReadingDoc() string {
	var notes strings.Builder
	names := readOnlyNames()
	for _, name := range names {
		if r, _ := readOnlyRow(name); r.note != "" {
			notes.WriteString("- `" + name + "`: " + r.note + "\n")
		}
	}
	text := "`" + strings.Join(names, " ") + "`\n\n`git " + strings.Join(gitCommands(), "|") + "`\n\n"
	return text + "`TOOL --version` of tools that do not look into the project for it.\n\n" + notes.String()
}
