package cli

import (
	"io"
	"io/fs"
	"path"
	"regexp"
	"strings"

	"artoo/provider"
	"artoo/ui"
	"artoo/ui/prompt"
	"artoo/ui/screen"
)

// pageSection is a heading of a page of the documentation, with its text down to the next one of its level.
type pageSection struct {
	page, title, text string
	level             int
	closed            bool // the text is all there
}

// wordsOf are headings by words that people look for and that no heading has, or several have.
func wordsOf() map[string]string {
	return map[string]string{
		"exit code": "headless#Exit codes", "exit": "headless#Exit codes", "exit status": "headless#Exit codes",
		"price": "context#Cost", "usage": "context#Cost", "money": "context#Cost", "budget": "context#Caps", "limit": "context#Caps",
		"aws": "connect#Clouds", "google cloud": "connect#Clouds",
		"key": "configuration#Keys", "api key": "configuration#Keys", "token": "context#The window", "compact": "context#The window",
		"agents.md": "context#Instructions", "claude.md": "context#Instructions", "local model": "connect#Servers of your own",
		"proxy": "operations#Proxies", "certificate": "operations#Certificates", "ssl": "operations#Certificates", "otel": "operations#OpenTelemetry",
		"update": "operations#Upgrades", "json": "headless#JSON that fits a schema", "yolo": "permissions#Modes", "approval": "permissions#Modes",
		"docker": "sandbox#What your machine offers", "slash": "conversation#Commands", "shortcut": "conversation#Typing", "keybinding": "conversation#Typing",
		"secret": "privacy#Hidden files", "telemetry": "operations#OpenTelemetry", "ci": "cookbook#In CI", "plugin": "extending#Bundles", "subagent": "context#Sub-agents",
	}
}

// sectionAbout is the section whose heading has the words, or else the one that says most about them.
func (l commandLine) sectionAbout(topic string) (best pageSection, found bool) {
	wanted := comparable(topic)
	score := 0
	for _, s := range l.sections() {
		title, n := comparable(s.title), 0
		switch {
		case wordsOf()[wanted] == s.page+"#"+s.title:
			n = 1 << 30
		case title == wanted:
			n = 1<<20 - s.level
		case strings.Contains(" "+title+" ", " "+wanted+" "):
			n = 1<<10 - s.level
		case len(wanted) > 2:
			own, _, _ := strings.Cut(s.text, "\n##") // else what is around a section says as much as it does
			n = min(strings.Count(" "+comparable(own)+" ", " "+wanted+" "), 1<<9)
		}
		if n > score {
			best, score = s, n
		}
	}
	return best, score > 0
}

// comparable are the words of a text in lower case and the singular, for comparing.
func comparable(text string) string {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return strings.ContainsRune(" \n\t-_`,:;()|*[]", r) })
	for i, w := range words {
		w = strings.TrimSuffix(w, ".")
		if len(w) > 3 && !strings.HasSuffix(w, "ss") {
			w = strings.TrimSuffix(w, "s")
		}
		words[i] = w
	}
	return strings.Join(words, " ")
}

// sections are those of all pages. A # in code is no heading.
func (l commandLine) sections() (all []pageSection) {
	for _, page := range l.topics() {
		text, err := fs.ReadFile(l.docs(), path.Join("docs", page+".md"))
		if err != nil {
			continue // the list of pages is of the same directory
		}
		begin, code := len(all), false
		for line := range strings.Lines(string(text)) {
			if strings.HasPrefix(strings.TrimSpace(line), "```") {
				code = !code
			}
			title := strings.TrimLeft(line, "#")
			if level := len(line) - len(title); level > 0 && !code {
				for i := begin; i < len(all); i++ {
					all[i].closed = all[i].closed || all[i].level >= level
				}
				all = append(all, pageSection{page: page, title: strings.TrimSpace(title), level: level})
			}
			for i := begin; i < len(all); i++ {
				if !all[i].closed {
					all[i].text += line
				}
			}
		}
	}
	return all
}

// showPage writes a page as it is, and rendered where stdout is a terminal: there, one that is longer than the screen goes
// through the pager. bare says that it is no Markdown.
func (l commandLine) showPage(w io.Writer, page string, bare bool) error {
	a := l.app
	raw := bare || !prompt.IsTerminal(a.process.Out)
	if !raw { // Settings that cannot be used do not keep anyone from reading how to correct them.
		raw = a.load(false, false) != nil
	}
	if raw {
		_, err := io.WriteString(w, page)
		return err
	}
	profile, _ := a.profile(true)
	columns, rows := a.size()
	text := screen.RenderMarkdown(l.forPeople(page), screen.MarkdownOptions{Width: func() int { return columns },
		Color: a.colored(true), ASCII: !a.utf8(), Palette: a.palette(), Spoken: profile == screen.Spoken})
	if profile == screen.Rich && strings.Count(text, "\n") >= rows {
		children := ui.Children{Environ: a.process.Environ, KeyVariables: provider.KeyVariables(), Pager: a.pager()}
		shown, err := children.Page(a.process.Out, text)
		if shown {
			return nil
		}
		if err != nil {
			a.screen.Trouble("pager: " + err.Error())
		}
	}
	_, err := io.WriteString(w, text)
	return err
}

// forPeople is a page with its lines joined to paragraphs, and its links as what one types.
func (l commandLine) forPeople(page string) string {
	page = regexp.MustCompile(`\[([^\]\n]+)\]\(([\w/.-]*)(#[^)\s]*)?\)`).ReplaceAllStringFunc(page, func(link string) string {
		text, to, _ := strings.Cut(strings.TrimSuffix(link[1:], ")"), "](")
		to, _, _ = strings.Cut(to, "#")
		if name, isPage := strings.CutSuffix(to, ".md"); isPage && !strings.Contains(name, "/") {
			return text + " (artoo help " + name + ")"
		}
		return text
	})
	var b strings.Builder
	code, open := false, false // open: the line before is prose that goes on
	for line := range strings.Lines(page) {
		line = strings.TrimSuffix(line, "\n")
		bare := strings.TrimSpace(line)
		fence := strings.HasPrefix(bare, "```")
		begins := bare == "" || fence || code || strings.ContainsAny(bare[:1], "#|>-*") || regexp.MustCompile(`^\d+\. `).MatchString(bare)
		if open && !begins {
			b.WriteString(" " + bare)
		} else {
			if b.Len() > 0 {
				b.WriteString("\n")
			}
			b.WriteString(line)
		}
		open = bare != "" && !fence && !code && !strings.ContainsAny(bare[:1], "#|>") && !strings.HasPrefix(line, "    ")
		if fence {
			code = !code
		}
	}
	return b.String() + "\n"
}
