package ui

// completion is what Tab may put in place of a part of the text.
type completion struct {
	from, to   int // bytes of the text that a candidate replaces
	candidates []candidate
}

// candidate is one way to go on. Both come from outside in part (file names):
// they are sanitised before they are shown.
type candidate struct {
	text string // replaces the bytes; a closing blank is its own
	help string // beside it in a list; may be ""
}

// completer proposes candidates for a text with the cursor at a byte of it,
// within 50 ms. Called by the console's goroutine: it may not touch the console.
type completer func(text string, cursor int) completion
