package tool

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
)

// largestIndex is the size in bytes up to which an index is looked at: more
// than half a million files.
const largestIndex = 64 << 20

var errIndex = errors.New("git's index is in a form that could not be looked at")

// eachIndexed calls each for every name in the index of a git directory; module
// marks the commit of another repository. A name is overwritten by the next. The format is git's index, versions 2
// to 4 (gitformat-index); a split or sparse one is an error, since it does not
// hold every name.
func eachIndexed(gitDir, common string, each func(name []byte, module bool) error) error {
	path := filepath.Join(gitDir, "index")
	info, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil // nothing was ever added
	}
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() || info.Size() > largestIndex {
		return errIndex
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if len(data) < 12 || string(data[:4]) != "DIRC" {
		return errIndex
	}
	version, entries := binary.BigEndian.Uint32(data[4:]), binary.BigEndian.Uint32(data[8:])
	if version < 2 || version > 4 {
		return errIndex
	}
	hash := hashSize(common)
	r := indexReader{data: data[12:], version: version, hash: hash}
	for range entries {
		mode, ok := r.next()
		if !ok {
			return errIndex
		}
		switch mode >> 12 {
		case 0o16:
			err = each(r.name, true)
		case 0o04: // a whole directory that is not checked out
			err = errIndex
		default:
			err = each(r.name, false)
		}
		if err != nil {
			return err
		}
	}
	if r.links() {
		return errIndex
	}
	return nil
}

// hashSize is 20, or 32 in a repository of SHA-256, which says so in its
// configuration.
func hashSize(common string) int {
	config, err := readSome(filepath.Join(common, "config"))
	if err == nil && bytes.Contains(bytes.ToLower([]byte(config)), []byte("sha256")) {
		return 32
	}
	return 20
}

type indexReader struct {
	data    []byte
	version uint32
	hash    int
	name    []byte
}

// next reads an entry: ten fields of four bytes, the seventh the mode, then the
// hash, flags and the name.
func (r *indexReader) next() (mode uint32, ok bool) {
	fixed := 40 + r.hash + 2
	if len(r.data) < fixed {
		return 0, false
	}
	mode = binary.BigEndian.Uint32(r.data[24:])
	if binary.BigEndian.Uint16(r.data[fixed-2:])&0x4000 != 0 { // extended flags
		fixed += 2
	}
	if len(r.data) < fixed {
		return 0, false
	}
	at := fixed
	if r.version == 4 {
		strip, n := stripLength(r.data[at:])
		if n == 0 || strip > len(r.name) {
			return 0, false
		}
		at += n
		r.name = r.name[:len(r.name)-strip]
	} else {
		r.name = r.name[:0]
	}
	end := bytes.IndexByte(r.data[at:], 0)
	if end < 0 {
		return 0, false
	}
	r.name = append(r.name, r.data[at:at+end]...)
	size := at + end + 1
	if r.version < 4 {
		size = (at + end + 8) &^ 7 // padded with one to eight NULs
	}
	if size > len(r.data) {
		return 0, false
	}
	r.data = r.data[size:]
	return mode, true
}

// stripLength reads how many bytes of the name before are not part of this one,
// and the number of bytes that says so in; 0 when it is broken.
func stripLength(data []byte) (strip, n int) {
	for i, c := range data {
		if i > 4 {
			break
		}
		if i > 0 {
			strip++
		}
		strip = strip<<7 | int(c&0x7f)
		if c < 0x80 {
			return strip, i + 1
		}
	}
	return 0, 0
}

// links reports whether an extension says that the index is in parts.
func (r *indexReader) links() bool {
	for rest := r.data; len(rest) >= r.hash+8; {
		size := int64(binary.BigEndian.Uint32(rest[4:])) + 8
		if name := string(rest[:4]); name == "link" || name == "sdir" {
			return true
		}
		if size > int64(len(rest)) {
			return true
		}
		rest = rest[size:]
	}
	return false
}
