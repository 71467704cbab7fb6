package redact

import (
	"regexp"
	"strings"
	"sync"
)

type shape struct {
	start string
	whole bool // only where no word goes on
	// match returns the bounds of the key whose start is at i, to = 0 for none,
	// and up to where there is no other.
	match func(text string, i int) (from, to, end int)
}

type shapes struct {
	by    [256][]shape         // their first byte
	pairs [1 << 16 / 64]uint64 // a bit for each two bytes that one begins with
}

// begin reports whether a shape begins with two bytes: few places do.
func (s *shapes) begin(a, b byte) bool {
	pair := uint(a)<<8 | uint(b)
	return s.pairs[pair/64]>>(pair%64)&1 != 0
}

// table has the shapes. It is made on demand, see compiled.
var table = sync.OnceValue(func() *shapes {
	t := &shapes{}
	put := func(s shape) {
		t.by[s.start[0]] = append(t.by[s.start[0]], s)
		pair := uint(s.start[0])<<8 | uint(s.start[1])
		t.pairs[pair/64] |= 1 << (pair % 64)
	}
	token := func(named bool, pattern string, starts ...string) {
		re := regexp.MustCompile(`^(?:` + pattern + `)`)
		for _, start := range starts {
			put(shape{start, true, func(text string, i int) (from, to, end int) {
				at := re.FindStringIndex(text[i:])
				if at == nil {
					if start == "eyJ" { // nor is there one further on in this word, however long
						return 0, 0, i + run(text[i:])
					}
					return 0, 0, i
				}
				end = i + at[1]
				if named && name(text[i+len(start):end]) || example(text[i:end]) || filler(text[i+len(start):end]) {
					return 0, 0, end
				}
				return i, end, end
			}})
		}
	}
	token(true, `sk-[A-Za-z0-9_-]{20,}`, "sk-") // OpenAI, Anthropic, OpenRouter, DeepSeek
	token(false, `[sr]k_(?:live|test)_[A-Za-z0-9]{16,}`, "sk_", "rk_")
	token(false, `gh[oprsu]_[A-Za-z0-9]{30,}`, "gho_", "ghp_", "ghr_", "ghs_", "ghu_")
	token(false, `github_pat_[A-Za-z0-9_]{22,}`, "github_pat_")
	token(false, `glpat-[A-Za-z0-9_-]{20,}`, "glpat-")
	token(false, `A[KS]IA[A-Z0-9]{16}`, "AKIA", "ASIA")
	token(false, `AIza[A-Za-z0-9_-]{35}`, "AIza")
	token(false, `ya29\.[A-Za-z0-9_-]{20,}`, "ya29.")
	token(true, `xox[abeoprs]-[A-Za-z0-9-]{10,}`, "xox")
	token(true, `xapp-[A-Za-z0-9-]{10,}`, "xapp-")
	token(false, `npm_[A-Za-z0-9]{36}`, "npm_")
	token(true, `pypi-[A-Za-z0-9_-]{40,}`, "pypi-")
	token(false, `hf_[A-Za-z0-9]{30,}`, "hf_")
	token(false, `dop_v1_[0-9a-f]{64}`, "dop_v1_")
	token(false, `SG\.[A-Za-z0-9_-]{20,}\.[A-Za-z0-9_-]{20,}`, "SG.")
	token(false, `eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]*`, "eyJ") // a signed JSON token
	token(false, `AGE-SECRET-KEY-1[0-9A-Z]{20,}`, "AGE-SECRET-KEY-1")
	put(shape{"Bearer ", false, bearer})
	put(shape{"bearer ", false, bearer})
	put(shape{"://", false, password})
	put(shape{pemBegin, false, privateKey})
	put(shape{pemEndBegin, false, privateKeyEnd})
	put(shape{encodedBegin, true, encodedKey})
	return t
})

// run is how far the characters go of which keys are made.
func run(text string) int {
	return len(text) - len(strings.TrimLeftFunc(text, func(r rune) bool { return r == '-' || r < 0x80 && wordByte(byte(r)) }))
}

// name reports whether a suspected key is a name of words: keys have digits among letters.
func name(text string) bool {
	words := strings.FieldsFunc(text, func(r rune) bool { return r == '-' || r == '_' || r == '.' })
	if len(words) < 2 {
		return false
	}
	numbers := 0
	for _, word := range words {
		bare := strings.Trim(word, "0123456789")
		switch {
		case bare == word:
		case len(word) <= 3 && (bare == "" || bare == "v" && word[0] == 'v'):
			numbers++
		default:
			return false
		}
	}
	return numbers <= 1 || numbers < len(words)/2
}

// example says whether a key is Amazon's example, or the token of jwt.io.
func example(key string) bool {
	return strings.HasSuffix(key, "EXAMPLE") || strings.Contains(key, ".eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkpvaG4gRG9l")
}

// filler reports a placeholder such as xxxx, which shows where a key goes.
func filler(key string) bool {
	drawn := strings.NewReplacer("-", "", "_", "", ".", "").Replace(key)
	return drawn != "" && strings.Contains("xX0*", drawn[:1]) && strings.Trim(drawn, drawn[:1]) == ""
}

var bearerWord = compiled(`^[Bb]earer +([A-Za-z0-9._~+/-]{20,}=*)`)

func bearer(text string, i int) (from, to, end int) {
	at := bearerWord().FindStringSubmatchIndex(text[i:])
	if at == nil {
		return 0, 0, i
	}
	if word := text[i+at[2] : i+at[3]]; name(word) || filler(word) {
		return 0, 0, i + at[2]
	}
	return i + at[2], i + at[3], i + at[3]
}

// password finds the one in an address, or a key in the place of a user.
func password(text string, i int) (from, to, end int) {
	begin := i + len("://")
	user := until(text[begin:], ":@")
	if begin+user == len(text) || text[begin+user] != ':' {
		return 0, 0, begin
	}
	from = begin + user + 1
	host := until(text[from:], "")
	at := strings.LastIndexByte(text[from:from+host], '@')
	if at < 3 || dummy(text[begin:begin+user], text[from:from+at]) {
		return 0, 0, begin
	}
	return from, from + at, from + at
}

// until is the length of text before the end of an address's user and password.
func until(text, others string) int {
	for i := range len(text) {
		if c := text[i]; c <= ' ' || c >= 0x80 && strings.HasPrefix(text[i:], "‹") ||
			strings.IndexByte("/?#\"'`<>\\"+others, c) >= 0 {
			return i
		}
	}
	return len(text)
}

// dummy says whether a password is a variable, a pattern or an example.
func dummy(user, password string) bool {
	lower := strings.ToLower(password)
	first, last := password[0], password[len(password)-1]
	switch {
	case first == '$' && (wordByte(password[1]) || password[1] == '{' || password[1] == '('),
		strings.Contains(password, "${"), strings.Contains(password, "{{"):
		return true
	case first == '{' && last == '}', first == '[' && last == ']', first == '%' && (password[1] == '(' || last == '%'):
		return true
	case strings.EqualFold(user, password), strings.Trim(password, password[:1]) == "":
		return true
	case strings.ContainsAny(password, "0123456789"):
		return false
	}
	for _, word := range []string{"password", "passwd", "secret", "token", "your", "example", "changeme", "redacted"} {
		if strings.Contains(lower, word) {
			return true
		}
	}
	switch lower {
	case "pass", "pwd", "foo", "bar", "baz", "key", "user", "admin", "root", "guest", "test", "dev", "postgres",
		"x-oauth-basic":
		return true
	}
	return false
}
