package search

import (
	"bytes"
	"strings"
)

// commonBytes are those that texts and programs are made of, the most common first,
// as counted in Go, Python, JavaScript, C and Markdown. Others are rarer.
const commonBytes = " etrnsiao\nlc\td,upf.\"mh()g=:_by0/'Axwv{}kESCT1I-2R;DPFON[]\\" +
	"BL*3M4`6H85#|UG97+q!&jQ>WzK%V<YJX?$@~Z^"

// rarityOf a byte: the higher, the rarer.
func rarityOf(c byte) int {
	if i := strings.IndexByte(commonBytes, c); i >= 0 {
		return i
	}
	return len(commonBytes)
}

// needle is a text to look for.
type needle struct {
	text []byte // lower case where fold is set
	fold bool   // its letters, which are ASCII, stand for both cases
	// rare is the offset of its rarest byte. It is what is looked for: to pass over
	// 100 bytes takes bytes.IndexByte 5 ns, and to stop 3.
	rare int
}

func newNeedle(text string, fold bool) needle {
	n := needle{text: []byte(text), fold: fold}
	if fold {
		lowerASCII(n.text)
	}
	best := -1
	for i, c := range n.text {
		worth := rarityOf(c)
		if fold {
			worth = min(worth, rarityOf(upperASCII(c)))
		}
		if worth > best {
			best, n.rare = worth, i
		}
	}
	return n
}

// isAt says whether the needle begins at offset at of text.
func (n *needle) isAt(text []byte, at int) bool {
	if at < 0 || at+len(n.text) > len(text) {
		return false
	}
	text = text[at : at+len(n.text)]
	if !n.fold {
		return bytes.Equal(text, n.text)
	}
	for i, c := range text {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != n.text[i] {
			return false
		}
	}
	return true
}

// needSearch finds where one of some needles comes next in a text.
type needSearch struct {
	text []byte
	each []needleSearch
}

type needleSearch struct {
	needle *needle
	at     int    // where it begins next; len(text) when it does not
	bytes  [2]int // where each case of its rare byte comes next
}

// start begins a search of text.
func (s *needSearch) start(needles []needle, text []byte) {
	s.text = text
	s.each = s.each[:0]
	for i := range needles {
		s.each = append(s.each, needleSearch{needle: &needles[i], at: -1, bytes: [2]int{-1, -1}})
	}
}

// next is the least offset, from at on, where one of the needles begins; -1 when there
// is none. at may not be less than in the call before.
func (s *needSearch) next(at int) int {
	nowhere := len(s.text)
	best := nowhere
	for i := range s.each {
		n := &s.each[i]
		if n.at < at {
			n.at = n.find(s.text, at)
		}
		best = min(best, n.at)
	}
	if best == nowhere {
		return -1
	}
	return best
}

// find is where the needle begins in text, from at on; len(text) when it does not.
func (s *needleSearch) find(text []byte, at int) int {
	rare := s.needle.text[s.needle.rare]
	both := [2]byte{rare, rare}
	if s.needle.fold {
		both[1] = upperASCII(rare)
	}
	for at += s.needle.rare; at < len(text); at++ {
		for i, c := range both {
			switch {
			case i == 1 && c == rare:
				s.bytes[1] = len(text)
			case s.bytes[i] < at:
				s.bytes[i] = len(text)
				if j := bytes.IndexByte(text[at:], c); j >= 0 {
					s.bytes[i] = at + j
				}
			}
		}
		at = min(s.bytes[0], s.bytes[1])
		if s.needle.isAt(text, at-s.needle.rare) {
			return at - s.needle.rare
		}
	}
	return len(text)
}

// lowerASCII makes A to Z lower case. Other letters stay: their length could change.
func lowerASCII(text []byte) {
	for i, c := range text {
		if 'A' <= c && c <= 'Z' {
			text[i] = c + 'a' - 'A'
		}
	}
}

func upperASCII(c byte) byte {
	if 'a' <= c && c <= 'z' {
		c -= 'a' - 'A'
	}
	return c
}
