package conversation

import "strings"

// Trimmed tells what a trim did. The zero value means nothing.
type Trimmed struct {
	Images  int // pictures replaced by a sentence
	Results int // old tool results shrunk to a line
	Texts   int // old texts of the model shortened
	Users   int // long messages of the user shortened
	Steps   int // whole old steps left out
	// Messages are old messages of the user left out since nothing else was left.
	Messages int
	Recent   int // tool results of the last steps shortened, since nothing else was left
	// RecentTexts are answers in the last steps, to messages before the last,
	// that were shortened since nothing else was left.
	RecentTexts int
	// Before and After are the estimated tokens.
	Before, After int
}

// String is the notice for the user: one sentence without a full stop, "" when
// nothing was done.
func (t Trimmed) String() string {
	var did []string
	tell := func(n int, one, many string) {
		if n > 0 {
			did = append(did, grouped(n)+" "+plural(n, one, many))
		}
	}
	tell(t.Images, "image left out", "images left out")
	tell(t.Results, "old tool result shrunk to a line", "old tool results shrunk to a line each")
	tell(t.Texts, "old text shortened", "old texts shortened")
	tell(t.Users, "long message of yours shortened", "long messages of yours shortened")
	tell(t.Steps, "old step left out", "old steps left out")
	tell(t.Messages, "old message of yours left out", "old messages of yours left out")
	tell(t.Recent, "recent tool result shortened", "recent tool results shortened")
	tell(t.RecentTexts, "recent answer shortened", "recent answers shortened")
	if len(did) == 0 {
		return ""
	}
	return "the context was trimmed from about " + grouped(t.Before) + " to " + grouped(t.After) + " tokens: " +
		strings.Join(did, ", ")
}
