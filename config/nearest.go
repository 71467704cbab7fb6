package config

import (
	"strings"

	"artoo/tool/spelling"
)

// Nearest is the candidate that word was most likely meant to be: the one
// that takes the fewest insertions, deletions, replacements and swaps of
// neighbours, if those are few for the word's length; "" when none is near.
func Nearest(word string, candidates []string) string {
	best, bestAt := "", max(2, len(word)/3)+1
	for _, c := range candidates {
		if d := spelling.Distance(word, c, bestAt); d < bestAt && d < len(word) {
			best, bestAt = c, d
		}
	}
	return best
}

// didYouMean is the tail of a warning, "" when nothing is near.
func didYouMean(word string, candidates []string) string {
	if near := Nearest(word, candidates); near != "" {
		return ", did you mean " + near + "?"
	}
	return ""
}

// orList joins words as in "a, b or c".
func orList(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}
