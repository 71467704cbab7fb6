package tool

import "strings"

// openFlags are added when a file is opened for reading. Windows has no named
// pipes in directories that could block.
const openFlags = 0

// badName says what is wrong with one name of a path. Windows would take
// "secret.", "secret " and "secret::$DATA" for "secret".
func badName(name string) string {
	if strings.ContainsRune(name, ':') {
		return "a name with a colon is not allowed"
	}
	if name != ".." && strings.TrimRight(name, ". ") != name {
		return "a name that ends in a dot or blank is not allowed"
	}
	return ""
}
