package config

import (
	"strings"

	"artoo/tool/spelling"
)

// didYouMean is the tail of a warning, "" when nothing is near.
func didYouMean(word string, candidates []string) string {
	if near := spelling.Nearest(word, candidates); near != "" {
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
