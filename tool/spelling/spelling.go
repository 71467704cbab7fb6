// Package spelling measures how near two words are, for hints such as "did you mean".
package spelling

// Distance is how many characters have to be inserted, removed, exchanged for
// another or swapped with their neighbour to make b of a; some number over
// limit if it is more than that.
func Distance(a, b string, limit int) int {
	s, t := []rune(a), []rune(b)
	if len(s)-len(t) > limit || len(t)-len(s) > limit {
		return limit + 1
	}
	before, above, row := make([]int, len(t)+1), make([]int, len(t)+1), make([]int, len(t)+1)
	for j := range above {
		above[j] = j
	}
	for i := 1; i <= len(s); i++ {
		row[0] = i
		for j := 1; j <= len(t); j++ {
			exchange := above[j-1]
			if s[i-1] != t[j-1] {
				exchange++
			}
			row[j] = min(exchange, above[j]+1, row[j-1]+1)
			if i > 1 && j > 1 && s[i-1] == t[j-2] && s[i-2] == t[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, above, row = above, row, before
	}
	return above[len(t)]
}

// Nearest is the candidate that word was most likely meant to be: the one
// that takes the fewest changes, if those are few for the word's length; "" when
// none is near.
func Nearest(word string, candidates []string) string {
	best, bestAt := "", max(1, len(word)/3)+1
	for _, c := range candidates {
		if d := Distance(word, c, bestAt); d < bestAt && d < len(word) {
			best, bestAt = c, d
		}
	}
	return best
}
