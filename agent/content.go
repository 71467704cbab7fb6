package agent

import "io/fs"

// content is the state of a path. The zero value means that nothing is there.
type content struct {
	exists bool
	mode   fs.FileMode // type and permission bits
	size   int64
	sum    uint64
	binary bool
	lines  []uint64 // hashes of a text's lines, where these count
}

// perLine is how many bytes of a binary file count as a line. Longer texts than longestText bytes count as
// binary, too.
const (
	perLine     = 80
	longestText = 32 << 20
)

func (c content) count() int {
	if c.binary {
		return int((c.size + perLine - 1) / perLine)
	}
	return len(c.lines)
}

// same reports whether two contents are equal; of directories only the mode counts.
func (c content) same(d content) bool {
	if !c.exists || !d.exists {
		return c.exists == d.exists
	}
	return c.mode == d.mode && (c.mode.IsDir() || c.size == d.size && c.sum == d.sum)
}

// linesTo is how many lines are removed and added on the way from one content to another; more than most
// need not be exact.
func (c content) linesTo(d content, most int) int {
	switch {
	case c.exists && d.exists && c.mode.Type() == d.mode.Type() && c.size == d.size && c.sum == d.sum:
		return 0
	case c.binary || d.binary:
		return c.count() + d.count()
	}
	return distance(c.lines, d.lines, most)
}

// mostSteps bounds the search for the shortest way from one text to another: beyond it all lines count.
const mostSteps = 20_000

// distance is how many elements have to be removed and added to make b of a: Myers' greedy algorithm
// without the way itself. Beyond most it is any higher number. The diff that is shown gives up the shortest way after
// 100 changes, and would count most lines of a file with more.
func distance(a, b []uint64, most int) int {
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	all := len(a) + len(b)
	if len(a) == 0 || len(b) == 0 {
		return all
	}
	limit := min(all, most, mostSteps)
	furthest := make([]int, 2*limit+3) // the furthest place in a, by the diagonal
	for steps := 0; steps <= limit; steps++ {
		for k := -steps; k <= steps; k += 2 {
			at := limit + 1 + k
			x := furthest[at-1] + 1
			if k == -steps || k != steps && furthest[at-1] < furthest[at+1] {
				x = furthest[at+1]
			}
			for x < len(a) && x-k >= 0 && x-k < len(b) && a[x] == b[x-k] {
				x++
			}
			if furthest[at] = x; x >= len(a) && x-k >= len(b) {
				return steps
			}
		}
	}
	return all
}
