package tool

import "io"

// Cleaner takes terminal control out of the output of a command: escape
// sequences and control characters go, and of a line that was written over, as
// progress bars are, the last state stays. It passes whole lines on. The output
// may be cut anywhere between writes. Not for concurrent use.
type Cleaner struct{ c cleaner }

// NewCleaner makes a Cleaner that writes to out, whose errors it ignores.
func NewCleaner(out io.Writer) *Cleaner { return &Cleaner{cleaner{out: out}} }

// Write implements io.Writer; it cannot fail.
func (c *Cleaner) Write(p []byte) (int, error) {
	c.c.write(p)
	return len(p), nil
}

// Open is the line that has not ended, as it stands now, without a character
// whose rest has not come.
func (c *Cleaner) Open() string { return string(c.c.line[:wholeRunes(c.c.line)]) }

// Close passes on what was written without a line break.
func (c *Cleaner) Close() error {
	c.c.flush()
	return nil
}
