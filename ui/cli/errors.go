package cli

import "strings"

// UsageError says what is wrong with the command line.
type UsageError struct {
	Where string // "--modle", "login"
	Why   string // lower case, no full stop
	Hint  string // what to write instead
}

// Error is "where: why".
func (e *UsageError) Error() string { return e.Where + ": " + e.Why }

// ErrorKind is usage.
func (e *UsageError) ErrorKind() string { return "usage" }

// ErrorHint is the text after "try:".
func (e *UsageError) ErrorHint() string { return e.Hint }

func joinWords(words []string) string { return strings.Join(words, " ") }

// quoteWords writes words so that a shell takes them apart the same way.
func quoteWords(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = quoteWord(w)
	}
	return joinWords(quoted)
}

func quoteWord(w string) string {
	plain := w != "" && strings.IndexFunc(w, func(r rune) bool {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		return !letter && !strings.ContainsRune("-_./:=,+@%", r) && r < 0x80
	}) < 0
	if plain {
		return w
	}
	return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
}
