package builtin

import (
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"artoo/tool/files"
)

// maxDifference is how much of what others changed is shown, in bytes.
const maxDifference = 4 << 10

// difference is what others changed in a text since the model saw it, as the lines
// of a diff; "" for nothing. whole says that it is all of it.
func difference(then, now string) (diff string, whole bool) {
	unified, err := udiff.ToUnifiedDiff("as read", "as it is now", then, udiff.Lines(then, now), udiff.DefaultContextLines)
	if err != nil {
		return "", false
	}
	text := strings.ToValidUTF8(unified.String(), "�")
	if len(text) <= maxDifference {
		return text, true
	}
	cut := strings.LastIndexByte(text[:maxDifference], '\n') + 1
	return text[:cut] + "[more was changed further down]\n", false
}

// staleEdit is for a file that changed since it was read. Where a command of the
// model's own did that, an edit whose places are as they were, once, is what the
// model meant; for any other it returns the reason with what was changed. lines
// returns those that the edit would change in a text. view is what of a text counts,
// nil for all of it. note is for the result.
func staleEdit(f *files.Files, t files.Place, now files.State, before files.Text, view func(string) string,
	lines func(files.Text) ([]string, error)) (note string, err error) {
	stale := stale(f, t, now)
	if stale == nil {
		return "", nil
	}
	seen, _ := f.Seen.Of(t.Abs)
	shown, is := seen.Body, before.Body
	if view != nil {
		shown, is = view(shown), view(is)
	}
	diff, whole := difference(shown, is)
	if !seen.Kept || diff == "" && view == nil {
		return "", stale
	}
	refused := func(how, begins string) error {
		return t.Errorf(nil, "has changed%s; read it again before changing it. %s:\n%s", how, begins, diff)
	}
	then, err := lines(files.Text{Body: seen.Body})
	current, nowErr := lines(before)
	switch {
	case !whole:
		return "", refused(" a lot since it was read", "It begins")
	case !seen.ChangedByCommand(now):
		return "", refused(" since it was read, and not by a command of yours", "What has changed")
	case err != nil || nowErr != nil || !slices.Equal(then, current):
		return "", refused(" since it was read", "What has changed")
	}
	if diff == "" {
		return "(a command had changed the file since it was read, but not the source of a cell)\n", nil
	}
	return "(a command had changed the file since it was read, but not there:\n" + diff + ")\n", nil
}
