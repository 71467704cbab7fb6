package conversation

import (
	"slices"
	"unicode/utf8"

	"artoo/provider"
)

// longer reports whether s has more than n characters.
func longer(s string, n int) bool {
	return len(s) > n*utf8.UTFMax || len(s) > n && utf8.RuneCountInString(s) > n
}

type item struct {
	id   string // ID of its line in the session file
	msg  provider.Message
	note string // names the messages left out after this user message; sent as its last text
	// summary says that it is no message of the user's: it stands for the messages summed up.
	summary bool
	size    size
	came    size // before anything was left out of it
}

func newItem(id string, msg provider.Message) item {
	it := item{id: id, msg: msg}
	it.measure()
	it.came = it.size
	return it
}

func (it *item) measure() {
	it.size = sizeOf(it.msg)
	if it.note != "" {
		it.size = it.size.plus(sizeOfPart(provider.Text{Text: it.note}))
		it.size.bytes += partBytes
		it.size.tokens[data] += partTokens
	}
}

func (it item) sent() provider.Message {
	m := it.msg
	if it.note != "" {
		m.Parts = append(slices.Clip(m.Parts), provider.Text{Text: it.note})
	}
	return m
}

func sizeOfAll(items []item) size {
	var sum size
	for _, it := range items {
		sum = sum.plus(it.size)
	}
	return sum
}

// step is a model's message with the results of its calls, items[from:to], dropped only whole.
type step struct{ from, to int }

// stepsOf finds the steps in order. A result without a call is a step of its own.
func stepsOf(items []item) []step {
	var steps []step
	open := false
	for i, it := range items {
		switch {
		case it.msg.Role == provider.RoleUser:
			open = false
		case it.msg.Role == provider.RoleTool && open:
			steps[len(steps)-1].to = i + 1
		default:
			steps = append(steps, step{i, i + 1})
			open = true
		}
	}
	return steps
}

const keptSteps = 3

// recentFrom is the index from which on items belong to the last steps.
func recentFrom(items []item, steps []step) int {
	if len(steps) == 0 {
		return len(items)
	}
	return steps[max(0, len(steps)-keptSteps)].from
}

// lastUser is the index of the latest message of the user's own, or -1.
func lastUser(items []item) int {
	for i, it := range slices.Backward(items) {
		if it.msg.Role == provider.RoleUser && !it.summary && !isReminder(it.msg) {
			return i
		}
	}
	return -1
}

// after is the number of items up to the one with the ID, 0 if it is not there.
func after(items []item, id string) int {
	for i, it := range slices.Backward(items) {
		if it.id == id {
			return i + 1
		}
	}
	return 0
}
