package screen

import (
	"strings"
	"time"

	"github.com/alecthomas/chroma/v2"
	"github.com/alecthomas/chroma/v2/lexers"
)

// Bounds of highlighting; chroma takes about 1 µs a byte. Beyond them code has no colors.
const (
	// highlightContext is how many bytes of the lines before are read to know how a line
	// begins: of a long block those behind its last line at the margin. Within a text or a
	// comment it is up to highlightOpen.
	highlightContext = 512
	highlightOpen    = 4 << 10
	highlightLine    = 1 << 10 // bytes of a line
	// highlightReply is how many bytes are read for one reply, those of the context each time.
	highlightReply = 512 << 10
	// highlightBlock is how many bytes each block counts in addition: the search for an
	// unknown lexer takes a few ms.
	highlightBlock = 4 << 10
	// highlightWait is how long one line may take; one match of the lexer may take 250 ms more.
	highlightWait = time.Second
)

// highlighter colors the lines of a block one by one, as they come.
type highlighter struct {
	lexer   chroma.Lexer // nil when the rest of the block has no colors
	context string       // the lines before, as far as they are looked at
	margin  int          // where in context the last line at the margin begins; 0 without such a line
	open    bool         // the last line ended within a text or a comment
	size    *int         // bytes that were looked at for the reply
}

// newHighlighter makes one for the info of a fence; nil for an unknown language. size counts
// over all blocks of a reply.
func newHighlighter(info string, size *int) *highlighter {
	words := strings.FieldsFunc(info, func(c rune) bool { return strings.ContainsRune(" \t,{}", c) })
	if len(words) == 0 || *size > highlightReply {
		return nil
	}
	*size += highlightBlock
	lexer := lexers.Get(strings.TrimPrefix(words[0], "."))
	if lexer == nil || lexer.Config().Name == "plaintext" {
		return nil
	}
	return &highlighter{lexer: lexer, size: size}
}

func (h *highlighter) line(line string) []token {
	size := len(h.context) + len(line) + 1
	if len(line) > highlightLine || *h.size+size > highlightReply {
		h.lexer = nil
	}
	if h.lexer == nil {
		return []token{{text: line}}
	}
	*h.size += size
	if line != "" && !h.open && !strings.ContainsAny(line[:1], " \t})]") {
		h.margin = len(h.context)
	}
	spans, open, ok := h.read(line)
	if !ok {
		h.lexer = nil
		return []token{{text: line}}
	}
	h.open = open
	h.context += line + "\n"
	switch {
	case open && len(h.context) > highlightOpen:
		h.lexer = nil
	case !open && len(h.context) > highlightContext:
		if h.margin == 0 {
			h.margin = len(h.context)
		}
		h.context, h.margin = h.context[h.margin:], 0
	}
	return spans
}

// read runs the lexer over the context and the line. open says that the line ends within a text
// or a comment; ok is false where the lexer fails or takes too long.
func (h *highlighter) read(line string) (spans []token, open, ok bool) {
	defer func() {
		if recover() != nil { // how the lexers' iterators say that they failed
			ok = false
		}
	}()
	tokens, err := h.lexer.Tokenise(&chroma.TokeniseOptions{State: "root"}, h.context+line+"\n")
	if err != nil {
		return nil, false, false
	}
	var text strings.Builder
	began := time.Now()
	at := -len(h.context) // position of the next token, counted from the start of the line
	for t := range tokens.Stdlib() {
		if time.Since(began) > highlightWait {
			*h.size = highlightReply + 1
			return nil, false, false
		}
		text.WriteString(t.Value)
		value := t.Value[min(max(-at, 0), len(t.Value)):]
		at += len(t.Value)
		open = len(value) > 1 && strings.HasSuffix(value, "\n") &&
			(t.Type.InSubCategory(chroma.LiteralString) || t.Type == chroma.CommentMultiline || t.Type == chroma.Comment)
		if value = strings.TrimSuffix(value, "\n"); value != "" {
			spans = append(spans, token{text: value, style: tokenStyle(t.Type)})
		}
	}
	return joinSpans(spans), open, text.String() == h.context+line+"\n" // some lexers change their text
}

// tokenStyle is the style of a token: few, and those that read on black and on white.
func tokenStyle(t chroma.TokenType) style {
	switch {
	case t.InCategory(chroma.Comment) && !t.InSubCategory(chroma.CommentPreproc):
		return dim
	case t.InCategory(chroma.Keyword):
		return keywordStyle
	case t.InSubCategory(chroma.LiteralString):
		return literalStyle
	}
	return 0
}

func joinSpans(spans []token) (joined []token) {
	for i, s := range spans {
		n := len(joined)
		blank := strings.TrimSpace(s.text) == "" && n > 0 && i+1 < len(spans) && spans[i+1].style == joined[n-1].style
		if n > 0 && (joined[n-1].style == s.style || blank) {
			joined[n-1].text += s.text
			continue
		}
		joined = append(joined, s)
	}
	return joined
}
