package screen

import (
	"fmt"
	"strings"

	texts "artoo/tool/text"
	"artoo/ui/sanitize"
)

// TrustQuestion asks whether to trust a repository's settings, or, with Run, whether the
// project may run its own programs; then only Dir is set. Its texts may come from outside.
type TrustQuestion struct {
	Dir     string // the project's root
	Run     bool
	Lines   []string // its files, one a line
	Changes []string // since it was trusted; nil where it never was
	Rules   []string // kept for the project, out of force until a yes
	All     string   // every file with its content, for the pager
}

func (q TrustQuestion) show(b *asking) {
	switch {
	case q.Run:
		b.remark("its own programs (builds, tests, scripts) will run without a question where namespaces confine them, " +
			"in later versions too")
		b.remark("so confined, they have no network except loopback, no keys and no home; artoo still checks " +
			"their changes")
		return
	case !b.cut:
		b.rows(b.safe(strings.TrimRight(q.All, "\n"), sanitize.Code))
		return
	}
	b.trust("this repository brings settings that programs obey once you trust them:", q.Lines)
	if q.Changes != nil {
		b.trust("since you trusted it:", q.Changes)
	}
	if q.Rules != nil {
		b.trust("your rules for this project do not apply until you trust it:", q.Rules)
	}
}

func (q TrustQuestion) prompt(lay *layout) string {
	dir := unforged(lay.shortDir(lay.ascii(sanitize.Text(lay.home(q.Dir), sanitize.Line)), usualWidth/2))
	asked := "trust the files of " + dir + "?"
	if q.Run {
		asked = "trust " + dir + " to run its own programs?"
	}
	return lay.ascii(lay.asks() + approve + asked + lay.ending(q))
}

func (q TrustQuestion) keys() [][2]string {
	if q.Run {
		return [][2]string{
			{"y", "run them without a question from now on; artoo trust rm --run undoes this"},
			{"n", "artoo asks before they run"},
		}
	}
	return [][2]string{
		{"y", "trust it as it is now; artoo asks again after a change"},
		{"n", "leave it out; artoo trust asks again"},
		{"p", "show every file in the pager"},
	}
}

func (q TrustQuestion) decided(yes bool) string {
	switch {
	case q.Run && yes:
		return "trusted to run its own programs in the sandbox"
	case q.Run:
		return "not trusted: artoo asks before its own programs run"
	case yes:
		return "trusted as it is now"
	}
	return "not trusted: its settings are ignored"
}

func (b *asking) trust(head string, lines []string) {
	b.remark(head)
	indent := b.lay.words(b.lay.body()+"  ", "")
	b.rows(b.lay.fold(b.safe(strings.Join(lines, "\n"), sanitize.Line), indent, indent, true))
}

// TrustLine is a file of a repository as it is listed.
func TrustLine(name string, size int, program string) string {
	return fmt.Sprintf("%s  (%s, for %s)", name, texts.Count(size, "byte"), program)
}

// ExtensionsQuestion asks about several servers and hooks that a repository supplies, as a whole. Its texts may
// come from outside.
type ExtensionsQuestion []ExtensionQuestion

func (q ExtensionsQuestion) show(b *asking) {
	var lines []string
	var all strings.Builder
	for i, e := range q {
		lines = append(lines, fmt.Sprintf("%d. the %s %s: %s", i+1, e.Kind, line(e.Name), line(e.Command)))
		for _, detail := range e.Details {
			lines = append(lines, "   "+line(detail))
		}
		all.WriteString(e.All)
	}
	b.trust("this repository supplies:", lines)
	b.remark("they run in the sandbox on the project; hooks can only deny, ask and add context, and artoo asks about each call of a server's tools")
	b.files("the files that they name", all.String())
}

func (q ExtensionsQuestion) prompt(lay *layout) string {
	return lay.confirmLine(q, "use", texts.Counted(len(q), "hook or server", "hooks and servers"))
}

func (q ExtensionsQuestion) keys() [][2]string {
	return [][2]string{
		{"y", "approve each as it is now; artoo asks again when one, or a file that it names, changes"},
		{"n", "leave them out; artoo trust asks about each one"},
		{"p", "show all of it in the pager"},
	}
}

func (q ExtensionsQuestion) decided(yes bool) string {
	if yes {
		return "all approved as they are now"
	}
	return "none approved; artoo trust asks about each"
}

// ExtensionQuestion asks whether to approve a server or hook that a repository supplies. Its texts
// may come from outside.
type ExtensionQuestion struct {
	Kind    string // "hook" or "server"
	Name    string
	Command string   // the whole command
	Details []string // its variables and other input
	All     string   // the files that it names, with their content; "" for none
}

func (q ExtensionQuestion) show(b *asking) {
	about := "it runs in the sandbox on the project, and can only deny, ask and add context"
	if q.Kind == "server" {
		about = "it runs in the sandbox on the project; artoo asks about each call of its tools"
	}
	b.trust("this repository supplies the "+q.Kind+" "+line(q.Name)+":", append([]string{q.Command}, q.Details...))
	b.remark(about)
	b.files("the files that it names", q.All)
}

func (q ExtensionQuestion) prompt(lay *layout) string {
	verb := "run the hook"
	if q.Kind == "server" {
		verb = "use the server"
	}
	return lay.confirmLine(q, verb, q.Command)
}

func (q ExtensionQuestion) keys() [][2]string {
	return [][2]string{
		{"y", "approve it as it is now; artoo asks again when it, or a file that it names, changes"},
		{"n", "leave it out; artoo trust asks again"},
		{"p", "show all of it in the pager"},
	}
}

func (q ExtensionQuestion) decided(yes bool) string {
	if yes {
		return q.Kind + " approved as it is now"
	}
	return q.Kind + " not approved: it is left out"
}
