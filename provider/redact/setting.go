package redact

import (
	"slices"
	"strings"
	"unicode/utf8"

	"artoo/tool/environ"
)

// Setting hides the credentials in what a setting says: an address, a command line, a variable or header with its value.
// A credential is known by its place there, and a key by its shape anywhere. The rest left as it is: it says what will
// run.
func Setting(text string) string {
	var b strings.Builder
	done := 0
	for _, at := range places(text) {
		b.WriteString(text[done:at[0]] + Hidden)
		done = at[1]
	}
	return b.String() + text[done:]
}

// Credentials are the texts that Setting hides.
func Credentials(text string) (all []string) {
	for _, at := range places(text) {
		all = append(all, text[at[0]:at[1]])
	}
	return all
}

var (
	address = compiled(`[A-Za-z][A-Za-z0-9+.-]*://[^\s"'<>` + "`" + `]+`)
	// assigned is a name with its value behind it: NAME=, --name, "name":, Name: and Name:value are told apart by their
	// last group.
	assigned = compiled(`([A-Za-z][A-Za-z0-9_.-]*)(["']? ?= ?|\\?["']:\s*|: ?|"?\s+|",\s*")`)
	// headerFlag is the end of a text before a header.
	headerFlag = compiled(`(-H|--header)[ =]?["']?$`)
	// variable is a value that a shell or artoo puts another in place of; a $ within a word may be a password's.
	variable = compiled(`^\$[A-Za-z_]|\$[({]`)
	scheme   = compiled(`^(?i:bearer|basic|token|bot|apikey|digest)(?: |%20)+`)
)

// places are the bounds of the credentials in text, in order, none over another.
func places(text string) (all [][2]int) {
	add := func(from, to int) {
		if from < to && !placeholder(text[from:to]) {
			all = append(all, [2]int{from, to})
		}
	}
	for _, at := range address().FindAllStringIndex(text, -1) {
		inAddress(text, at[0], at[1], add)
	}
	for i := 0; i < len(text); {
		at := assigned().FindStringSubmatchIndex(text[i:])
		if at == nil {
			break
		}
		from, to := assignment(text, i+at[2], i+at[3], i+at[5])
		add(from, to)
		i = max(i+at[3]+1, to)
	}
	find(text, func(from, to int) bool { all = append(all, [2]int{from, to}); return true })
	slices.SortStableFunc(all, func(a, b [2]int) int { return a[0] - b[0] })
	merged := all[:0]
	for _, at := range all {
		if last := len(merged) - 1; last >= 0 && at[0] <= merged[last][1] {
			merged[last][1] = max(merged[last][1], at[1])
		} else {
			merged = append(merged, at)
		}
	}
	return merged
}

// inAddress finds the credentials of the address at text[from:to]: its password, a user that is a key, the values of its query
// and fragment, and parts of its path that no person writes.
func inAddress(text string, from, to int, add func(from, to int)) {
	host := from + strings.Index(text[from:to], "://") + 3
	path := to
	if n := strings.IndexAny(text[host:to], "/?#"); n >= 0 {
		path = host + n
	}
	if at := strings.LastIndexByte(text[host:path], '@'); at >= 0 {
		user, password, found := strings.Cut(text[host:host+at], ":")
		if likely(user) {
			add(host, host+len(user))
		}
		if found && text[host:host+at] != "user:password" {
			add(host+at-len(password), host+at)
		}
	}
	query := to
	if n := strings.IndexAny(text[path:to], "?#"); n >= 0 {
		query = path + n
	}
	pieces(text, path, query, "/", func(from, to int) {
		if opaque(text[from:to]) {
			add(from, to)
		}
	})
	pieces(text, query, to, "?#&;", func(from, to int) {
		name, _, found := strings.Cut(text[from:to], "=")
		if found && !PlainQuery(name) {
			add(from+len(name)+1, to)
		} else if !found && from == query+1 && likely(name) {
			add(from, to)
		}
	})
}

// pieces calls do with the bounds of the parts of text[from:to] between separators.
func pieces(text string, from, to int, separators string, do func(from, to int)) {
	for from < to {
		n := strings.IndexAny(text[from:to], separators)
		if n < 0 {
			n = to - from
		}
		do(from, from+n)
		from += n + 1
	}
}

// assignment is the credential that follows the name at text[from:to], whose value begins at begin; from = to for none.
func assignment(text string, name, end, begin int) (from, to int) {
	between, flag := text[end:begin], name > 0 && text[name-1] == '-'
	strong, weak := secretName(text[name:end])
	user := flag && slices.Contains([]string{"u", "user", "U", "proxy-user"}, text[name:end])
	header := strings.HasPrefix(between, ":")
	given := headerFlag().MatchString(text[max(0, name-10):name])
	quoted := strings.Contains(text[name:end], "-") && strings.ContainsAny(text[max(0, name-1):name], `"'`)
	if between == ":" && !flag && !given && !quoted && !strings.EqualFold(text[name:end], "authorization") {
		return 0, 0 // a step of a script, or a word before a colon
	}
	if !strong && !weak && !user || !flag && !strings.ContainsAny(between, "=:") {
		return 0, 0
	}
	quote := ""
	if from = begin; strings.HasPrefix(text[from:], `\"`) {
		quote = `\"`
		from += 2
	} else if from < len(text) && strings.ContainsRune(`"'`, rune(text[from])) {
		quote = text[from : from+1]
		from++
	} else if strings.HasSuffix(between, `"`) {
		quote = `"`
	}
	said := scheme().FindString(text[from:])
	from += len(said)
	switch open := strings.LastIndexAny(text[:name], `"'`); {
	case quote == "" && header && open == name-1 && open >= 0:
		quote = text[open:name] // the header is a word in quotes, with its value
	case quote == "":
		quote = " \t\r\n\"'`,;&|<>)"
	}
	to = len(text)
	if n := strings.IndexAny(text[from:], quote); n >= 0 {
		to = from + n
	}
	value := text[from:to]
	prose := header && said == "" && len(quote) > 1 && !flag && !given
	switch {
	case user:
		of, password, found := strings.Cut(value, ":")
		if !found || password == of || strings.Trim(value, "0123456789:") == "" { // user and group of a container
			return 0, 0
		}
		return to - len(password), to
	case strings.HasPrefix(value, "-") && !strings.ContainsAny(between, "=:"),
		weak && said == "" && (prose || !likely(value)),
		prose && !strings.ContainsAny(value, "0123456789"):
		return 0, 0
	}
	return from, to
}

// likely reports whether a text may be a key though nothing says so.
func likely(text string) bool {
	return len(text) >= 16 && !strings.ContainsAny(text, " /") || len(text) >= 8 && strings.ContainsAny(text, "0123456789")
}

// opaque reports whether a part of a path is a key rather than a name: long, of letters and digits mixed, and no commit.
func opaque(part string) bool {
	if len(part) == 40 && strings.Trim(part, hexDigits) == "" {
		return false
	}
	for run := range strings.FieldsFuncSeq(part, func(r rune) bool { return r >= utf8.RuneSelf || r == '_' || !wordByte(byte(r)) }) {
		if len(run) >= 20 && strings.ContainsAny(run, "0123456789") && strings.Trim(run, "0123456789") != "" {
			return true
		}
	}
	return false
}

// placeholder reports a value that stands for a key, is hidden already, or may run something: that must be seen. A quote of
// the other kind says that the value may have ended before.
func placeholder(value string) bool {
	switch strings.ToLower(value) {
	case "null", "true", "false":
		return true
	}
	return len(value) < 3 || strings.ContainsAny(value[:1], "%{<[*(") || strings.ContainsAny(value, "`;|&<>\"'\n…‹") ||
		variable().MatchString(value) ||
		len(value) < 8 && strings.ToUpper(value) == value && strings.Trim(value, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_") == ""
}

// secretName reports whether a variable, flag, header or parameter is called as secrets are: by its last word. A weak name is
// one that other things have, too.
func secretName(name string) (strong, weak bool) {
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return r == '-' || r == '_' || r == '.' })
	last := ""
	for n := len(words) - 1; n >= 0; n-- { // TOKEN_2, PASSWORD1, API_KEY_V2 and SECRET_KEY_BASE are called by the word before
		last, words = strings.TrimRight(words[n], "0123456789"), words[:n+1]
		if n == 0 || !slices.Contains([]string{"", "v", "base", "value", "string"}, last) {
			break
		}
	}
	if last == "" {
		return false, false
	}
	switch last {
	case "key", "pat":
		return len(words) > 1, len(words) == 1
	case "auth", "session", "sid", "sig", "signature", "pin", "code", "dsn", "creds", "keys", "tokens", "passwords", "dbpass",
		"userpass":
		return false, true
	case "id":
		return false, len(words) > 1 && words[len(words)-2] == "key" // of AWS, given with the secret
	}
	if last == "pwd" || environ.IsCredential(last) {
		return true, false
	}
	return false, words[0] == "x" // a header of someone's own
}
