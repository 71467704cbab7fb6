package outline

import (
	"cmp"
	"path"
	"slices"
	"strings"
)

// Source is a file of a project.
type Source struct {
	Name string // separated by slashes
	*File
	Near bool // the map is to be about this file
}

// Ranked is the definition Symbols[Symbol] of sources[Source].
type Ranked struct {
	Source, Symbol int
	score          float64
}

// These are the weights in a definition's rank.
const (
	nearer   = 20   // definitions in files that the map is to be about
	farther  = 0.02 // mentions in other files than those
	searched = 50   // definitions that a word of the query names
	unnamed  = 0.05 // mentions in a file that does not name the other file
	aside    = 0.05 // definitions in tests, and in the code of others
	plain    = 0.3  // names that may be words of something else
	common   = 20   // not a weight: a name that more files define says nothing
)

// others are directories, and ends of file names, of definitions that count little.
const others = " test tests testdata spec specs __tests__ fixtures mocks vendor third_party node_modules examples "

// Rank returns the definitions of sources, the most important ones first: those whose names most
// other files mention. Such a file must also name the other one or its directory, as an import does,
// unless the language needs none. Files that the map is to be about count more, as do their own
// definitions and those that a word, in lower case, is part of.
func Rank(sources []Source, words []string) []Ranked {
	var all []Ranked
	next, files := []int32{}, make([]place, len(sources)) // next is the next definition of the same name, -1 for none
	type uses struct{ first, count int32 }
	names := map[uint32]uses{}
	for i, s := range sources {
		files[i] = placeOf(s)
		for j, d := range s.Symbols {
			n, known := names[d.hash]
			if !known {
				n.first = -1
			}
			next = append(next, n.first)
			names[d.hash] = uses{int32(len(all)), n.count + 1}
			all = append(all, Ranked{Source: i, Symbol: j})
		}
	}
	near := slices.ContainsFunc(sources, func(s Source) bool { return s.Near })
	for i, s := range sources {
		weight := 1.0
		if near && !s.Near {
			weight = farther
		}
		for _, m := range s.mentions {
			if n, known := names[m]; known && n.count <= common {
				for at := n.first; at >= 0; at = next[at] {
					if d := &all[at]; d.Source != i {
						d.score += weight * files[i].uses(&files[d.Source], d.Symbol) / float64(n.count)
					}
				}
			}
		}
	}
	for i, d := range all {
		all[i].score = files[d.Source].weigh(d, words)
	}
	slices.SortStableFunc(all, func(a, b Ranked) int { return cmp.Compare(b.score, a.score) })
	return all
}

// place is a source with its directory and the hashes of the words by which others name the two.
type place struct {
	Source
	dir    string
	hashes [2]uint32
}

func placeOf(s Source) place {
	p := place{Source: s, dir: path.Dir(s.Name)}
	for i, part := range []string{strings.TrimSuffix(path.Base(s.Name), path.Ext(s.Name)), path.Base(p.dir)} {
		longest := "" // "file" for my-file
		for word := range strings.FieldsFuncSeq(part, func(r rune) bool { return r > 0x7f || !isName(byte(r)) }) {
			if len(word) >= len(longest) {
				longest = word
			}
		}
		p.hashes[i] = hashOf(s.language, longest)
	}
	return p
}

// uses is how much it counts that p mentions the name of a definition in q.
func (p *place) uses(q *place, symbol int) float64 {
	hashes := q.hashes[:]
	switch {
	case p.dir == q.dir && languages[q.language].beside:
		return 1
	case p.dir == q.dir:
		hashes = hashes[:1]
	case q.Symbols[symbol].local:
		return 0
	}
	for _, hash := range hashes {
		if _, named := slices.BinarySearch(p.mentions, hash); named {
			return 1
		}
	}
	return unnamed
}

func (p *place) weigh(r Ranked, words []string) float64 {
	d, score, file := p.Symbols[r.Symbol], r.score, strings.ToLower(p.Name)
	if d.plain {
		score *= plain
	}
	for part := range strings.FieldsFuncSeq(file, func(r rune) bool { return r == '/' || r == '.' }) {
		if has(others, part) || strings.HasSuffix(part, "_test") {
			score *= aside
			break
		}
	}
	if p.Near {
		score = (score + 1) * nearer
	}
	for _, w := range words {
		if strings.Contains(strings.ToLower(d.Name), w) || strings.Contains(file, w) {
			score = (score + 1) * searched
		}
	}
	return score
}
