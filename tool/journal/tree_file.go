package journal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
)

// errTorn says that what stands in the file is not whole.
var errTorn = errors.New("torn")

// treeFile is the file that a tree is kept in: one record for each directory
// that changed since the record before, so that what a snapshot saw is on disk
// before the command runs. Each record is its length and its CRC-32 in four
// bytes each, then the path and the entries, as varints and bytes; one without
// entries and with the mark below takes the directory out.
type treeFile struct {
	file  *os.File
	size  int64
	saved tree // as the file has it
	at    func(string) error

	written written
}

// save appends what changed since the last time, and returns the file's size.
func (f *treeFile) save(t tree) (int64, error) {
	var b []byte
	for dir, folder := range t {
		if f.saved[dir] != folder {
			b = appendFolder(b, dir, folder)
		}
	}
	for dir := range f.saved {
		if t[dir] == nil {
			b = appendFolder(b, dir, nil)
		}
	}
	if err := f.at("tree"); err != nil {
		return 0, err
	}
	if len(b) == 0 {
		return f.size, nil
	}
	defer f.written.add()
	if _, err := f.file.WriteAt(b, f.size); err != nil {
		return 0, err
	}
	f.size += int64(len(b))
	saved := make(tree, len(t))
	for dir, folder := range t {
		saved[dir] = folder
	}
	f.saved = saved
	return f.size, nil
}

// compact writes the file anew if it is large, and most of it out of date. No step
// may be open. A crash in the middle of it costs the tree, which is then read from
// the project again.
func (f *treeFile) compact() error {
	if f.size < compactFrom {
		return nil
	}
	var b []byte
	for dir, folder := range f.saved {
		b = appendFolder(b, dir, folder)
	}
	if f.size < 3*int64(len(b)) {
		return nil
	}
	defer f.written.add()
	if err := f.file.Truncate(0); err != nil {
		return err
	}
	f.size = int64(len(b))
	_, err := f.file.WriteAt(b, 0)
	return err
}

// compactFrom is how many bytes of a tree are never too many.
const compactFrom = 1 << 20

func appendFolder(b []byte, dir string, f *folder) []byte {
	start := len(b)
	b = append(b, 0, 0, 0, 0, 0, 0, 0, 0)
	b = appendString(b, dir)
	if f == nil {
		b = append(b, 0)
	} else {
		b = append(b, 1)
		b = binary.AppendUvarint(b, uint64(len(f.entries)))
		for _, e := range f.entries {
			b = appendEntry(b, e)
		}
	}
	binary.LittleEndian.PutUint32(b[start:], uint32(len(b)-start-8))
	binary.LittleEndian.PutUint32(b[start+4:], crc32.ChecksumIEEE(b[start+8:]))
	return b
}

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func appendEntry(b []byte, e entry) []byte {
	b = append(appendString(b, e.name), e.flags)
	for _, n := range []uint64{uint64(e.ref), uint64(e.stat.mode), uint64(e.stat.links), uint64(e.stat.uid),
		uint64(e.stat.gid),
		e.stat.inode, e.stat.dev, uint64(e.stat.size), uint64(e.stat.mtime), uint64(e.stat.ctime)} {
		b = binary.AppendUvarint(b, n)
	}
	return b
}

// readTree reads the first size bytes of the file, all of it if size is
// negative, up to what a crash left of its last record.
func readTree(file *os.File, size int64) (t tree, end int64, err error) {
	if size < 0 {
		size = 1 << 62
	}
	data, err := io.ReadAll(io.NewSectionReader(file, 0, size))
	if err != nil {
		return nil, 0, err
	}
	t = tree{}
	for rest := data; len(rest) >= 8; {
		n := int64(binary.LittleEndian.Uint32(rest))
		if n > int64(len(rest))-8 || crc32.ChecksumIEEE(rest[8:8+n]) != binary.LittleEndian.Uint32(rest[4:]) {
			break
		}
		dir, folder, err := readFolder(bytes.NewReader(rest[8 : 8+n]))
		if err != nil {
			break
		}
		if folder == nil {
			delete(t, dir)
		} else {
			t[dir] = folder
		}
		rest = rest[8+n:]
		end += 8 + n
	}
	return t, end, nil
}

func readFolder(r *bytes.Reader) (dir string, f *folder, err error) {
	if dir, err = readString(r); err != nil {
		return "", nil, err
	}
	there, err := r.ReadByte()
	if err != nil || there == 0 {
		return dir, nil, err
	}
	n, err := binary.ReadUvarint(r)
	if err != nil || n > uint64(r.Len()) {
		return "", nil, errors.Join(err, errTorn)
	}
	f = &folder{make([]entry, n)}
	for i := range f.entries {
		if f.entries[i], err = readEntry(r); err != nil {
			return "", nil, err
		}
	}
	return dir, f, nil
}

func readString(r *bytes.Reader) (string, error) {
	n, err := binary.ReadUvarint(r)
	if err != nil || n > uint64(r.Len()) {
		return "", errors.Join(err, errTorn)
	}
	b := make([]byte, n)
	_, err = io.ReadFull(r, b)
	return string(b), err
}

func readEntry(r *bytes.Reader) (e entry, err error) {
	if e.name, err = readString(r); err != nil {
		return e, err
	}
	if e.flags, err = r.ReadByte(); err != nil {
		return e, err
	}
	var n [10]uint64
	for i := range n {
		if n[i], err = binary.ReadUvarint(r); err != nil {
			return e, err
		}
	}
	e.ref = uint32(n[0])
	e.stat = stat{mode: fs.FileMode(n[1]), links: uint32(n[2]), uid: uint32(n[3]), gid: uint32(n[4]),
		inode: n[5], dev: n[6], size: int64(n[7]), mtime: int64(n[8]), ctime: int64(n[9])}
	return e, nil
}
