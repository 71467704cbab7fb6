package search

import (
	"slices"
	"strings"
)

// isTracked says whether git's index, as indexNames lists it, holds name, or for a
// directory something below it.
func isTracked(index []string, name string, isDir bool) bool {
	if _, found := slices.BinarySearch(index, name); found || !isDir {
		return found
	}
	// What sorts between a directory and its files begins with its name too.
	i, _ := slices.BinarySearch(index, name+"/")
	return i < len(index) && strings.HasPrefix(index[i], name+"/")
}
