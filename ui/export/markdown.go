package export

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"artoo/provider"
	"artoo/tool/text"
	"artoo/ui/sanitize"
)

// Markdown writes the session for people: the messages, each tool call, and its result. It is safe to show.
func Markdown(w io.Writer, s Session) error { return markdown(w, s, true) }

// Summary is Markdown without the results of calls: a line for each.
func Summary(w io.Writer, s Session) error { return markdown(w, s, false) }

func markdown(w io.Writer, s Session, results bool) error {
	p := page{results: results}
	p.line("# " + title(s))
	p.line("")
	for _, f := range facts(s) {
		p.line("- " + f[0] + ": " + InlineCode(f[1]))
	}
	last := ""
	for _, m := range transcript(s.Messages) {
		heading := cmp.Or(m.heading(), "artoo")
		if heading != last {
			p.gap()
			p.line("## " + heading)
		}
		last = heading
		for _, it := range m.Items {
			p.item(m, it)
		}
		if m.Partial {
			p.gap()
			p.line("(The answer was cut off here.)")
		}
	}
	if results {
		p.decisions(s.Decisions)
	}
	_, err := io.WriteString(w, p.b.String())
	return err
}

// page is Markdown that is being written.
type page struct {
	b       strings.Builder
	results bool // results of calls are shown too
	list    bool // the last line was one of a list
}

func (p *page) line(text string) {
	p.b.WriteString(text)
	p.b.WriteByte('\n')
}

func (p *page) gap() {
	p.list = false
	p.line("")
}

func (p *page) item(m said, it *item) {
	switch {
	case it.Type == "text" && strings.TrimSpace(it.Text) == "":
	case it.Type == "text" && m.Role == provider.RoleUser:
		p.gap()
		for line := range strings.SplitSeq(strings.TrimRight(sanitize.Text(it.Text, sanitize.Code), "\n"), "\n") {
			p.line(strings.TrimRight("> "+line, " "))
		}
	case it.Type == "text":
		p.gap()
		p.line(closeFence(strings.TrimRight(sanitize.Text(it.Text, sanitize.Prose), "\n")))
	case it.Type == "image":
		p.gap()
		p.line("> " + describe(*it.Image))
	case it.Type == "call" && p.results:
		p.gap()
		p.call(it)
	case it.Type == "call":
		if !p.list {
			p.gap()
		}
		p.list = true
		p.line("- " + callLine(it))
	}
}

// closeFence ends a code block that an answer left open: it would take in all that follows.
func closeFence(text string) string {
	if fence := OpenFence(text); fence != "" {
		return text + "\n" + runOf(fence)
	}
	return text
}

// OpenFence is the line that opens the code block in which a Markdown text ends, "" outside one.
func OpenFence(text string) string {
	open := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		run := runOf(line)
		switch {
		case len(run) < 3:
		case open == "" && (run[0] == '~' || !strings.Contains(line[len(run):], "`")):
			open = line
		case open != "" && run == line && strings.HasPrefix(run, runOf(open)):
			open = ""
		}
	}
	return open
}

// runOf is the run of backticks or tildes that a line begins with.
func runOf(line string) string {
	if line == "" || line[0] != '`' && line[0] != '~' {
		return ""
	}
	return line[:len(line)-len(strings.TrimLeft(line, line[:1]))]
}

func (p *page) call(c *item) {
	p.line(callLine(c))
	if object := c.object(); strings.Contains(object, "\n") {
		p.gap()
		p.fenced("", object)
	}
	if change := c.change(); change != "" {
		p.gap()
		p.fenced("diff", change)
	}
	p.gap()
	if c.Result == nil {
		p.line("(No result: the session ended early.)")
		return
	}
	if c.Result.Text != "" {
		p.fenced("", c.Result.Text)
	}
	for _, i := range c.Result.Images {
		p.line(describe(i))
	}
}

func callLine(c *item) string {
	line := "**" + sanitize.Text(c.Name, sanitize.Line) + "**"
	if object := c.object(); object != "" {
		line += " " + InlineCode(text.Head(object))
	}
	switch {
	case c.Result == nil:
		line += ", no result"
	case c.Result.IsError:
		line += ", failed"
	}
	return line
}

// fenced writes a text that nothing in it can end.
func (p *page) fenced(kind, text string) {
	text = strings.TrimRight(sanitize.Text(text, sanitize.Code), "\n")
	fence := strings.Repeat("`", max(3, longestRun(text, '`')+1))
	p.line(fence + kind)
	p.line(text)
	p.line(fence)
}

// InlineCode writes a text from outside as code within a line of Markdown, which nothing in it can end.
func InlineCode(text string) string {
	text = sanitize.Text(text, sanitize.Line)
	ticks := strings.Repeat("`", longestRun(text, '`')+1)
	if strings.HasPrefix(text, "`") || strings.HasSuffix(text, "`") {
		text = " " + text + " "
	}
	return ticks + text + ticks
}

func longestRun(text string, of byte) int {
	longest, run := 0, 0
	for i := range len(text) {
		if text[i] != of {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return longest
}

func describe(p imageInfo) string {
	return fmt.Sprintf("(an image: %s, %s)", sanitize.Text(p.MediaType, sanitize.Line), text.Counted(p.Bytes, "byte", "bytes"))
}

func title(s Session) string {
	if s.ID == "" {
		return "A session with artoo"
	}
	return "artoo session " + sanitize.Text(s.ID, sanitize.Line)
}

func facts(s Session) [][2]string {
	var list [][2]string
	add := func(name, value string) {
		if value != "" {
			list = append(list, [2]string{name, value})
		}
	}
	add("directory", s.Dir)
	add("model", strings.TrimPrefix(s.Provider+"/"+s.Model, "/"))
	add("started", moment(s.Started))
	add("last written", moment(s.Updated))
	if t := s.Totals; t.Requests > 0 {
		add("requests", strconv.Itoa(t.Requests))
		add("tokens", fmt.Sprintf("%d in, %d out", t.Usage.Prompt(), t.Usage.Output))
		cost := "unknown"
		if t.CostUSD != nil {
			cost = text.Dollars(*t.CostUSD)
		}
		add("cost", cost)
	}
	add("copied from", s.ForkOf)
	add("artoo", s.Version)
	return list
}

func moment(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04 UTC")
}
