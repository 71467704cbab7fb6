package screen

// TryQuestion asks whether to keep the changes that a command made on a layer. Its texts may come from outside.
type TryQuestion struct {
	Command string
	Rows    []string // the changes, one a row
	Diff    string
}

func (q TryQuestion) show(b *asking) {
	for _, row := range q.Rows {
		b.remark(b.oneRow(row))
	}
	b.changes(q.Diff)
}

func (q TryQuestion) prompt(lay *layout) string {
	return lay.confirmLine(q, "keep the changes of", q.Command)
}

func (q TryQuestion) keys() [][2]string {
	return [][2]string{{"y", "make these changes in the project; artoo undo reverts them"}, {"n", "throw them away"},
		{"p", "show all of them in the pager"}}
}

func (q TryQuestion) decided(yes bool) string {
	if yes {
		return "changes kept; to revert them: artoo undo"
	}
	return "changes thrown away"
}
