package skill

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"artoo/tool/text"
)

// Catalogue lists names with descriptions, a line each, in at most so many bytes of JSON: every
// name that fits, and descriptions that are shortened evenly where they do not. others says how those
// are found that have no line.
func Catalogue(items []Item, most int, others string) string {
	remark := size(fmt.Sprintf("\n(and %d more: %s)", len(items), others))
	names, left := 0, most
	for ; names < len(items); names++ {
		need := size("\n" + items[names].Name)
		if rest := len(items) - names - 1; left < need || rest > 0 && left-need < remark {
			break
		}
		left -= need
	}
	listed, more := items[:names], ""
	if names < len(items) {
		more = fmt.Sprintf("\n(and %d more: %s)", len(items)-names, others)
		left -= size(more)
	}
	length := longest(listed, left)
	var b strings.Builder
	for _, i := range listed {
		b.WriteString("\n" + i.Name + described(i, length))
	}
	return strings.TrimPrefix(b.String()+more, "\n")
}

// mostDescribed is the length of a description that the model is shown, in characters.
const mostDescribed = 1024

// leastDescribed is the length below which a description says nothing.
const leastDescribed = 12

// longest is the greatest length of descriptions that fits so many bytes, 0 for none.
func longest(items []Item, left int) int {
	low, high := 0, mostDescribed
	for low < high {
		length, sum := (low+high+1)/2, 0
		for _, i := range items {
			if sum += size(described(i, length)); sum > left {
				break
			}
		}
		if sum <= left {
			low = length
		} else {
			high = length - 1
		}
	}
	return low
}

func described(i Item, length int) string {
	if length < leastDescribed || i.Description == "" {
		return ""
	}
	return ": " + text.Clip(strings.TrimSuffix(i.Description, "."), length)
}

// size is how many bytes a text takes in a request, at most.
func size(s string) (n int) {
	for _, r := range s {
		switch {
		case r == '"' || r == '\\' || r == '\n' || r == '\t' || r == '\r':
			n += 2
		case r < ' ' || strings.ContainsRune("<>&\u2028\u2029\uFFFD", r): // Some encoders write these as \u0000.
			n += 6
		default:
			n += utf8.RuneLen(r)
		}
	}
	return n
}

// Search are the items whose name or description has all words of a query, then those with some,
// those with more first.
func Search(items []Item, query string) []Item {
	words := strings.Fields(strings.ToLower(query))
	type hit struct {
		item Item
		n    int
	}
	var hits []hit
	for _, i := range items {
		in, n := strings.ToLower(i.Name+" "+i.Description), 0
		for _, w := range words {
			if strings.Contains(in, w) {
				n++
			}
		}
		if n > 0 {
			hits = append(hits, hit{i, n})
		}
	}
	slices.SortStableFunc(hits, func(a, b hit) int { return cmp.Compare(b.n, a.n) })
	found := make([]Item, len(hits))
	for i, h := range hits {
		found[i] = h.item
	}
	return found
}
