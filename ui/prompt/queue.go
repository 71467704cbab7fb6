package prompt

// Queue holds the lines that came too early. It may be used only within Prompt.Queue and
// Options.Queued.
type Queue struct {
	prompt *Prompt
	lines  []Line
	bytes  int // their texts have so many
}

// Queue has f look at and change the queue, and waits for it.
func (p *Prompt) Queue(f func(q *Queue)) { p.do(func() { f(&p.queue) }) }

// Lines are the lines in their order. The caller may change all but their text.
func (q *Queue) Lines() []Line { return q.lines }

// Typed is Prompt.Typed.
func (q *Queue) Typed() bool { return q.prompt.Typed() }

// InTurn reports whether a turn runs.
func (q *Queue) InTurn() bool { return q.prompt.interrupt != nil }

// Remove takes out and returns the lines that match.
func (q *Queue) Remove(match func(i int, l Line) bool) (removed []Line) {
	var kept []Line
	for i, l := range q.lines {
		if match(i, l) {
			removed = append(removed, l)
			q.bytes -= len(l.Text)
		} else {
			kept = append(kept, l)
		}
	}
	q.lines = kept
	return removed
}

// Prefill puts text before the text typed already. It reports false where lines are not edited.
func (q *Queue) Prefill(text Draft) bool {
	k := q.prompt.keys
	if k == nil {
		return false
	}
	k.ed.load(text.join(k.ed.draft()))
	k.draw()
	return true
}
