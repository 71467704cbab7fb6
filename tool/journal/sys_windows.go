package journal

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// place is the project's root, held open. Its methods take paths relative to it,
// with slashes.
type place struct{ root *os.Root }

func openPlace(path string) (*place, error) {
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	return &place{root}, nil
}

func (p *place) close() error { return p.root.Close() }

// local is the path as the system spells it.
func local(path string) string {
	if path == "" {
		return "."
	}
	return filepath.FromSlash(path)
}

func (p *place) list(path string, _ []byte) ([]entry, error) {
	dir, err := p.root.Open(local(path))
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	found, err := dir.ReadDir(-1)
	if err != nil {
		return nil, err
	}
	entries := make([]entry, 0, len(found))
	for _, d := range found {
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue // gone meanwhile
		}
		if err != nil {
			return nil, err
		}
		entries = append(entries, entry{name: d.Name(), stat: statOf(info)})
	}
	slices.SortFunc(entries, func(a, b entry) int { return strings.Compare(a.name, b.name) })
	return entries, nil
}

func (p *place) lstat(path string) (stat, error) {
	info, err := p.root.Lstat(local(path))
	if err != nil {
		return stat{}, err
	}
	return statOf(info), nil
}

func (p *place) readlink(path string) (string, error) { return p.root.Readlink(local(path)) }

func (p *place) openFile(path string) (io.ReadSeekCloser, stat, error) {
	f, err := p.root.Open(local(path))
	if err != nil {
		return nil, stat{}, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, stat{}, errors.Join(err, f.Close())
	}
	return f, statOf(info), nil
}

// statOf knows neither inode nor owner here; the time of the last write stands
// for that of the last change.
func statOf(info fs.FileInfo) stat {
	mode := info.Mode()
	if mode&(fs.ModeDevice|fs.ModeNamedPipe|fs.ModeSocket) != 0 {
		mode = mode&permissions | fs.ModeIrregular
	}
	written := info.ModTime().UnixNano()
	return stat{mode: mode, links: 1, size: info.Size(), mtime: written, ctime: written}
}

// keepOwner has nothing to do: a new file inherits from its directory.
func keepOwner(*os.Root, string, State) {}

// syncDir has nothing to do: directories cannot be synced.
func syncDir(*os.Root) error { return nil }

func syncFile(f *os.File) error { return f.Sync() }
