package conversation

import (
	"slices"
	"strings"

	"artoo/provider"
)

// reminderHead begins what the program itself says to the model in the place of
// the user.
const reminderHead = "[Not from the user: "

// Remind appends what the program itself has to tell the model, as a message that
// counts as none of the user's. An earlier one is no longer sent: they do not pile
// up. Errors are those of Append.
func (c *Conversation) Remind(text string) error {
	return c.Append(provider.UserText(reminderHead + text + "]"))
}

// IsReminder reports whether a text of a message with the user's role is such a
// message.
func IsReminder(text string) bool { return strings.HasPrefix(text, reminderHead) }

func isReminder(m provider.Message) bool {
	return m.Role == provider.RoleUser && len(m.Parts) == 1 && IsReminder(m.Text())
}

// dropReminders leaves earlier reminders out of what is sent.
func (c *Conversation) dropReminders() {
	left := slices.DeleteFunc(slices.Clone(c.items), func(it item) bool { return isReminder(it.msg) })
	if len(left) < len(c.items) {
		c.shrunk(left, sizeOfAll(left))
	}
}
