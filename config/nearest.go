package config

import "strings"

// Nearest is the candidate that word was most likely meant to be: the one
// that takes the fewest insertions, deletions, replacements and swaps of
// neighbours, if those are few for the word's length; "" when none is near.
func Nearest(word string, candidates []string) string {
	best, bestAt := "", max(2, len(word)/3)+1
	for _, c := range candidates {
		if d := distance(word, c); d < bestAt && d < len(word) {
			best, bestAt = c, d
		}
	}
	return best
}

// distance is the optimal string alignment distance in bytes.
func distance(a, b string) int {
	older, old, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range old {
		old[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(old[j]+1, row[j-1]+1, old[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], older[j-2]+1)
			}
		}
		older, old, row = old, row, older
	}
	return old[len(b)]
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
