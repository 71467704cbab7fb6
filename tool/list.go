package tool

import (
	"fmt"
	"strings"
)

// ListUpTo names the first n of some things, and says how many there are besides.
func ListUpTo(n int, names []string) string {
	more := len(names) - n
	if more <= 0 {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:n], ", "), more)
}
