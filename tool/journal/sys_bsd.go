//go:build unix && !linux

package journal

func (p *place) open(path string, flags int) (int, error) { return p.openSteps(path, flags) }
