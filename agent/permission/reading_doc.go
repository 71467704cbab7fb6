package permission

import "strings"

// ReadingDoc lists the commands of the @read group for the documentation, as
// Markdown.
func ReadingDoc() string {
	var b, notes strings.Builder
	for i, name := range readingNames() {
		r, _ := readingOf(name)
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(name)
		if r.note != "" {
			notes.WriteString("- `" + name + "`: " + r.note + "\n")
		}
	}
	text := "`" + b.String() + "`\n\n`git " + strings.Join(gitCommands(), "|") + "`\n\n"
	return text + "`TOOL --version` of tools that do not look into the project for it.\n\n" + notes.String()
}
