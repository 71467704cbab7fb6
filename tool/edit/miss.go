package edit

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"artoo/tool/diff"
	"artoo/tool/text"
)

// tellingLen is how many characters must be found again to mean something.
const tellingLen = 10

// findLines is the line where wanted stands, which may begin and end within lines; -1 for none.
func findLines(lines, wanted []string, alike func(string) string) int {
	seen := func(lines []string) string {
		var b strings.Builder
		for i, line := range lines {
			if i > 0 {
				b.WriteByte('\n')
			}
			b.WriteString(alike(line))
		}
		return b.String()
	}
	there, part := seen(lines), seen(wanted)
	at := strings.Index(there, part)
	if at < 0 || strings.Trim(part, "\n") == "" {
		return -1
	}
	return strings.Count(there[:at], "\n")
}

// maxCompared bounds the search in a file of lines that are all the same, in pairs of lines.
const maxCompared = 2_000_000

func joinSpaces(s string) string {
	return strings.Map(func(c rune) rune {
		if unicode.IsSpace(c) {
			return -1
		}
		return c
	}, s)
}

// plainMarks is Typewritten for more marks, without white space.
func plainMarks(s string) string {
	more := strings.NewReplacer("`", "'", "´", "'", "«", `"`, "»", `"`, "\u200b", "", "\u200c", "", "\u200d", "", "\ufeff", "")
	return joinSpaces(more.Replace(Typewritten(s)))
}

// cutNumbers takes the numbers of read off each line, if each one has one.
func cutNumbers(s string) (string, bool) {
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		number, text, ok := strings.Cut(line, "\t")
		if _, err := strconv.Atoi(strings.TrimSpace(number)); !ok || err != nil {
			if i == len(lines)-1 && i > 0 && line == "" {
				break
			}
			return "", false
		}
		lines[i] = text
	}
	return strings.Join(lines, "\n"), true
}

// nearestLines is the line where the most of wanted may stand, -1 for none.
func nearestLines(lines, wanted []string) int {
	where := map[string][]int{}
	for j, w := range wanted {
		if s := joinSpaces(w); len(s) > 2 {
			where[s] = append(where[s], j)
		}
	}
	votes := map[int]int{}
	compared := 0
	for i, line := range lines {
		if compared > maxCompared {
			break
		}
		for _, j := range where[joinSpaces(line)] {
			votes[i-j]++
			compared++
		}
	}
	best, most := -1, 0
	for at, n := range votes {
		if n > most || n == most && at < best {
			best, most = at, n
		}
	}
	if most > 0 {
		return max(0, best)
	}
	// No line is the same: the one with the most words of the longest wanted line, half of them at least.
	longest := slices.MaxFunc(wanted, func(a, b string) int { return cmp.Compare(len(a), len(b)) })
	words := strings.FieldsFunc(longest[:min(len(longest), likeMax)], func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	most = (len(words) - 1) / 2
	for i, line := range lines {
		n := 0
		for _, word := range words {
			if strings.Contains(line, word) {
				n++
			}
		}
		if n > most {
			best, most = i, n
		}
	}
	if best < 0 {
		return -1
	}
	return max(0, best-slices.Index(wanted, longest))
}

// likeMax is how many bytes of a line are compared when none is the same, and shown.
const likeMax = 400

// showLines writes n lines from index at with their numbers, at most 12.
func showLines(lines []string, at, n int) string {
	const most = 12
	var b strings.Builder
	end := min(at+n, len(lines))
	for i := at; i < min(end, at+most); i++ {
		line, cut := text.CutLine(lines[i], likeMax)
		text.WriteLine(&b, i+1, line, cut)
	}
	if end > at+most {
		fmt.Fprintf(&b, "   ... and %s more\n", text.Count(end-at-most, "line"))
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// linesOf names the lines on which the edits begin, in words.
func linesOf(body string, at []diff.Edit) string {
	const most = 10
	numbers := make([]string, 0, len(at))
	line, from := 1, 0
	for _, e := range at {
		line += strings.Count(body[from:e.Start], "\n")
		from = e.Start
		numbers = append(numbers, strconv.Itoa(line))
	}
	numbers = slices.Compact(numbers)
	if len(numbers) == 1 {
		return "on line " + numbers[0]
	}
	return "on lines " + text.UpTo(most, numbers)
}

func lineAt(body string, offset int) int { return 1 + strings.Count(body[:offset], "\n") }

// explainMiss says why old is not in body: the difference, and the lines that were probably meant.
func explainMiss(body, old, replacement string) string {
	const miss = "old_string is not in the file"
	if i := strings.Index(body, replacement); i >= 0 && len(joinSpaces(replacement)) >= tellingLen &&
		!strings.Contains(old, replacement) {
		return fmt.Sprintf("%s, but new_string is, on line %d: perhaps this was already done", miss, lineAt(body, i))
	}
	if strings.Contains(old, "\ufffd") && !utf8.ValidString(body) {
		return miss + ": � is how read shows bytes that are not UTF-8; take lines or parts of lines without it"
	}
	if bare, ok := cutNumbers(old); ok && strings.Contains(body, bare) {
		return miss + " with the line numbers that read shows; leave them out"
	}
	if plain, err := strconv.Unquote(`"` + strings.ReplaceAll(old, `"`, `\"`) + `"`); err == nil && plain != old &&
		strings.Contains(body, plain) {
		return miss + ` as written: it has escapes such as \n where the file has the characters themselves`
	}
	lines := strings.Split(body, "\n")
	wanted := strings.Split(strings.Trim(old, "\n"), "\n")
	for _, look := range []struct {
		alike func(string) string
		words string
	}{
		{strings.TrimSpace, "only indentation or spaces at the ends of lines differ"},
		{joinSpaces, "only white space differs"},
		{plainMarks, "only the kind of quotes, dashes or spaces differs"},
		{func(s string) string { return strings.ToLower(plainMarks(s)) }, "only case differs"},
		{norm.NFC.String, "only the Unicode form of accented letters differs (composed or not), so take a part of the " +
			"line without them"},
	} {
		if at := findLines(lines, wanted, look.alike); at >= 0 {
			return fmt.Sprintf("%s, %s\nThe file has\n%s", miss, look.words, showLines(lines, at, len(wanted)))
		}
	}
	if at := nearestLines(lines, wanted); at >= 0 {
		return fmt.Sprintf("%s\nThe nearest lines are\n%s", miss, showLines(lines, max(0, at-1), len(wanted)+2))
	}
	return miss + ", nor anything like it; read it again"
}
