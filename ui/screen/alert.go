package screen

// Alert sends bytes to Err at once that neither show nor move anything, such as
// BEL or a notification's sequence. They must be safe; the transcript stays as
// it is.
func (s *Screen) Alert(text string) {
	s.do(func() { s.sink.chrome(s.opt.Now(), text) })
}
