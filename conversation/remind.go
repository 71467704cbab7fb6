package conversation

import (
	"strings"

	"artoo/provider"
)

// reminderHead begins what the program itself says to the model in the place of
// the user.
const reminderHead = "[Not from the user: "

// Remind appends what the program itself has to tell the model, as a message that
// counts as none of the user's. An earlier one goes: they do not pile up. Errors
// are those of Append.
func (c *Conversation) Remind(text string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.dropReminders(); err != nil {
		return err
	}
	return c.append(provider.UserText(reminderHead + text + "]"))
}

// dropReminders leaves earlier reminders out of what is sent.
func (c *Conversation) dropReminders() error {
	record := trimRecord{}
	for _, it := range c.items {
		if isReminder(it.msg) {
			record.Drop = append(record.Drop, it.id)
		}
	}
	if record.empty() {
		return nil
	}
	if c.session != nil {
		if _, err := c.session.append(typeTrim, &record); err != nil {
			return err
		}
	}
	before := c.size
	c.items, _ = replay(c.items, record)
	c.size = sizeOfAll(c.items)
	c.sent = min(c.sent, len(c.items))
	c.meter.rescale(before, c.size)
	return nil
}

// IsReminder reports whether a text of a message with the user's role is such a
// message.
func IsReminder(text string) bool { return strings.HasPrefix(text, reminderHead) }

func isReminder(m provider.Message) bool {
	return m.Role == provider.RoleUser && len(m.Parts) == 1 && IsReminder(m.Text())
}
