package repo

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"context"
	"crypto/sha1" //nolint:gosec // Git names objects by it.
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"artoo/tool/git"
	"artoo/tool/text"
)

// format is how a repository names objects.
type format struct{ hex int } // letters of an id

func (f format) hash() hash.Hash {
	if f.hex == 64 {
		return sha256.New()
	}
	return sha1.New() //nolint:gosec // Git names objects by it.
}

func (f format) isID(text string) bool { return len(text) == f.hex && isHex(text) }

func (f format) none() string { return strings.Repeat("0", f.hex) }

// mostObject is how many bytes a loose object may hold.
const mostObject = 1 << 30

// errObject says that a loose object is not what its name says.
var errObject = errors.New("not the object of this id")

// takeObject copies a loose object of the layer into the view, where it is what its
// name says. Others are left out: they could stand in for content that is stored later.
func (v *View) takeObject(ctx context.Context, path string) error {
	id := filepath.Base(filepath.Dir(path)) + filepath.Base(path)
	if !v.format.isID(id) {
		return nil
	}
	from, err := v.open(path)
	if err != nil {
		return err
	}
	defer from.Close()
	name := filepath.Join(v.dir, "git", "objects", id[:2], id[2:])
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	to, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	err = v.format.check(id, io.TeeReader(text.Reader(ctx, from), to))
	if err := errors.Join(err, to.Close()); err == nil {
		v.made[id] = true
		return nil
	}
	if removed := os.Remove(name); removed != nil {
		return removed
	}
	if errors.Is(err, errObject) {
		return nil
	}
	return err
}

// mostPack is how many bytes of a pack are taken.
const mostPack = 64 << 20

// takePack has git unpack a new pack of the layer in the view, which computes the ids of
// what it holds. What is damaged or behind mostPack is left out. The pack itself is never
// landed.
func (v *View) takePack(ctx context.Context, path string) error {
	from, err := v.open(path)
	if err != nil {
		return err
	}
	defer from.Close()
	err = v.git.Run(ctx, io.LimitReader(from, mostPack), 0, nil, "unpack-objects", "-q", "-r")
	if err != nil && (ctx.Err() != nil || !exited(err)) {
		return err
	}
	objects := filepath.Join(v.dir, "git", "objects")
	return filepath.WalkDir(objects, func(path string, d fs.DirEntry, err error) error {
		if id := filepath.Base(filepath.Dir(path)) + d.Name(); err == nil && v.format.isID(id) {
			v.made[id] = true
		}
		return err
	})
}

// check reads a loose object to its end: it must be whole, have a correct header and
// the hash that is its id.
func (f format) check(id string, r io.Reader) error {
	packed := bufio.NewReader(r)
	z, err := zlib.NewReader(packed)
	if err != nil {
		return damaged(err)
	}
	text := bufio.NewReader(z)
	head, err := text.ReadSlice(0)
	if err != nil {
		return damaged(err)
	}
	kind, length, ok := strings.Cut(string(head[:len(head)-1]), " ")
	size, err := strconv.ParseInt(length, 10, 64)
	if !ok || err != nil || strconv.FormatInt(size, 10) != length || size < 0 || size > mostObject ||
		kind != "blob" && kind != "tree" && kind != "commit" && kind != "tag" {
		return errObject
	}
	sum := f.hash()
	sum.Write(head)
	n, err := io.Copy(sum, io.LimitReader(text, size+1))
	if err != nil {
		return damaged(err)
	}
	_, end := packed.ReadByte()
	switch {
	case end == nil, n != size, hex.EncodeToString(sum.Sum(nil)) != id:
		return errObject
	case !errors.Is(end, io.EOF):
		return end
	}
	return nil
}

// damaged is errObject where the content is at fault, else the error.
func damaged(err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.As(err, new(*os.PathError)) {
		return err
	}
	return errObject
}

// kinds asks git for the types of objects; those that the view lacks have none.
func (v *View) kinds(ctx context.Context, ids []string) (map[string]string, error) {
	found := map[string]string{}
	if len(ids) == 0 {
		return found, nil
	}
	err := v.git.Run(ctx, lines(ids), '\n', func(line string) error {
		id, kind, ok := strings.Cut(line, " ")
		if !ok {
			return fmt.Errorf("git cat-file says %q", line)
		}
		if kind != "missing" {
			found[id] = kind
		}
		return nil
	}, "cat-file", "--batch-check=%(objectname) %(objecttype)")
	return found, err
}

func lines(list []string) io.Reader {
	var b bytes.Buffer
	for _, line := range list {
		b.WriteString(line)
		b.WriteByte('\n')
	}
	return &b
}

// reached are the objects that tips reach and the refs of before do not. The error
// says that one is missing.
func (v *View) reached(ctx context.Context, tips []string) (ids []string, err error) {
	args := []string{"rev-list", "--objects", "--no-object-names", "--stdin"}
	if v.promises() {
		args = append(args, "--missing=allow-any")
	}
	err = v.git.Run(ctx, lines(append(tips[:len(tips):len(tips)], v.refs.excluded...)), '\n', func(id string) error {
		if v.made[id] {
			ids = append(ids, id)
		}
		return nil
	}, args...)
	return ids, err
}

// exited reports whether git ran and failed.
func exited(err error) bool { return errors.As(err, new(*exec.ExitError)) }

// blob is the id of content.
func (f format) blob(data []byte) string { return git.ObjectID(f.hash(), "blob", data) }

// emptyTree is the id of a tree without entries, which git knows without storing it.
func (f format) emptyTree() string { return git.ObjectID(f.hash(), "tree", nil) }
