package shell

import "strings"

// Quote writes words so that a POSIX shell takes them apart the same way; what needs
// no quotes gets none.
func Quote(words ...string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		special := strings.IndexFunc(w, func(r rune) bool {
			letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
			return !letter && !strings.ContainsRune("-_./:=,+@%", r) && r < 0x80
		})
		if quoted[i] = w; w == "" || special >= 0 {
			quoted[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}
