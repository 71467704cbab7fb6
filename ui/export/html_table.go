package export

import "strings"

// tablesAsWritten puts the tables of a Markdown text between fences, so that they
// stand in the page in the columns they were written in. The parser's own tables
// come with the whole of its extensions, whose regular expressions every start of
// artoo would pay for.
func tablesAsWritten(markdown string) string {
	var b strings.Builder
	lines := strings.SplitAfter(markdown, "\n")
	open := "" // the fence that is open
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		mark := codeFence(line)
		switch {
		case open != "":
			if len(mark) >= len(open) && mark[0] == open[0] && strings.TrimSpace(line) == mark {
				open = ""
			}
		case mark != "":
			open = mark
		case i+1 < len(lines) && cellsLine(line) && delimiterLine(lines[i+1]):
			end := i + 2
			for end < len(lines) && cellsLine(lines[end]) {
				end++
			}
			table := strings.Join(lines[i:end], "")
			fence := "~~~" + strings.Repeat("~", strings.Count(table, "~"))
			b.WriteString(fence + "\n" + strings.TrimRight(table, "\n") + "\n" + fence + "\n")
			i = end - 1
			continue
		}
		b.WriteString(line)
	}
	return b.String()
}

// codeFence is the run of marks that opens or closes a block of code, "" in
// other lines.
func codeFence(line string) string {
	text := strings.TrimLeft(line, " ")
	if len(line)-len(text) > 3 {
		return ""
	}
	for _, mark := range []string{"`", "~"} {
		if n := len(text) - len(strings.TrimLeft(text, mark)); n >= 3 {
			return text[:n]
		}
	}
	return ""
}

// cellsLine says whether a line may be a table's row: it has a bar, and is no
// quote and no code.
func cellsLine(line string) bool {
	text := strings.TrimLeft(line, " ")
	return strings.Contains(text, "|") && len(line)-len(text) <= 3 && text[0] != '>' && codeFence(line) == ""
}

// delimiterLine says whether a line is what stands below a table's header.
func delimiterLine(line string) bool {
	return cellsLine(line) && strings.Contains(line, "-") && strings.Trim(line, "|:- \t\r\n") == ""
}
