package screen

import "encoding/base64"

// MaxClipboard is the longest text that Clipboard takes, in bytes: the sequence
// around it is then no longer than terminals are known to read.
const MaxClipboard = 74_994 / 4 * 3

// Clipboard asks the terminal to put text into the clipboard of the machine it
// runs on (OSC 52). It sends nothing that is not asked for by the person at the
// terminal: call it for them only. The text is encoded, so whatever it holds
// cannot reach the terminal as a command. It reports false, and sends nothing,
// when the text is too long, or Err is no terminal.
func (s *Screen) Clipboard(text string) bool {
	if !s.opt.ErrTTY || len(text) > MaxClipboard {
		return false
	}
	s.do(func() {
		s.hideTransient()
		s.sink.chrome(s.opt.Now(), "\x1b]52;c;"+base64.StdEncoding.EncodeToString([]byte(text))+"\a")
	})
	return true
}
