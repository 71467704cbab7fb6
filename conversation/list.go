package conversation

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"artoo/provider"
	"artoo/tool/text"

	"golang.org/x/sys/unix"
)

// Info describes a session for a list. artoo sessions --json prints its JSON.
type Info struct {
	ID       string    `json:"id"`
	Path     string    `json:"path"`
	CWD      string    `json:"cwd"`     // "" when neither the header nor the end of a turn can be read
	Started  time.Time `json:"started"` // zero when neither the header nor the file's name can be read
	Updated  time.Time `json:"updated"` // when the file was last written
	First    string    `json:"first"`   // the first words of the user on one line; may be ""
	Messages int       `json:"messages"`
	Provider string    `json:"provider"` // configured name at the start
	Model    string    `json:"model"`    // the last to answer, else the one it started with
	ForkOf   string    `json:"fork_of,omitempty"`
	Name     string    `json:"name,omitempty"`     // the user's name for it, may be ""
	Headless bool      `json:"headless,omitempty"` // it began with a headless run
	// CostUSD is the cost in US dollars; nil if a price is unknown or an older artoo wrote the session.
	CostUSD *float64 `json:"cost_usd"`
}

// Bounds of the bytes that List reads of each file.
const (
	headBytes  = 32 << 10 // holds a header, or the whole of a short file
	tailBytes  = 4 << 10  // holds the last turn marker, mostly
	longTail   = 64 << 10 // where it does not stand there
	firstChars = 80
)

// List describes all sessions, the last written first, from the beginning and end of each file,
// or the whole where that does not suffice. Broken files are listed as far as they can be read.
func (st Store) List() ([]Info, error) { return st.Recent(math.MaxInt) }

// Recent is the newest n sessions, newest first, as List describes them.
func (st Store) Recent(n int) ([]Info, error) {
	files, err := st.files()
	if err != nil {
		return nil, err
	}
	return describeAll(files[:min(n, len(files))]), nil
}

func describeAll(files []found) []Info {
	infos := make([]Info, len(files))
	errs := make([]error, len(files))
	inParallel(len(files), filesAtOnce, func() func(from, to int) {
		var d describer
		return func(from, to int) {
			for i := from; i < to; i++ {
				infos[i], errs[i] = d.describe(files[i])
			}
		}
	})
	known := infos[:0]
	for i, info := range infos {
		if !errors.Is(errs[i], os.ErrNotExist) { // removed since the directory was read
			known = append(known, info)
		}
	}
	return known
}

// filesAtOnce is how many files one processor describes before it looks for more.
const filesAtOnce = 16

// inParallel does n things on all processors, some at a time. worker is called once a goroutine.
func inParallel(n, some int, worker func() func(from, to int)) {
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), (n+some-1)/some) {
		workers.Go(func() {
			do := worker()
			for to := int(next.Add(int64(some))); to-some < n; to = int(next.Add(int64(some))) {
				do(to-some, min(to, n))
			}
		})
	}
	workers.Wait()
}

type found struct {
	path     string
	modified time.Time
	size     int64
}

func (st Store) files() ([]found, error) {
	entries, err := os.ReadDir(st.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fileError(st.Dir, err)
	}
	files := make([]found, len(entries))
	inParallel(len(entries), filesAtOnce, func() func(from, to int) {
		return func(from, to int) {
			for i := from; i < to; i++ {
				files[i] = st.look(entries[i])
			}
		}
	})
	files = slices.DeleteFunc(files, func(f found) bool { return f.path == "" })
	slices.SortStableFunc(files, func(a, b found) int {
		if c := b.modified.Compare(a.modified); c != 0 {
			return c
		}
		return strings.Compare(b.path, a.path)
	})
	return files, nil
}

// look describes a directory entry; the path is "" if it is not a session.
func (st Store) look(e fs.DirEntry) found {
	if !strings.HasSuffix(e.Name(), fileExt) || e.IsDir() {
		return found{}
	}
	path := filepath.Join(st.Dir, e.Name())
	info, err := e.Info()
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		info, err = os.Stat(path)
	}
	if err != nil || !info.Mode().IsRegular() {
		return found{}
	}
	return found{path, info.ModTime(), info.Size()}
}

// find returns the file of a session by its ID, the beginning of one, or its name.
func (st Store) find(asked string) (string, error) {
	files, err := st.files()
	if err != nil {
		return "", err
	}
	var paths, ids []string
	for _, f := range files {
		id := idOf(f.path)
		if id == asked {
			return f.path, nil
		}
		if asked != "" && strings.HasPrefix(id, strings.ToLower(asked)) {
			paths, ids = append(paths, f.path), append(ids, id)
		}
	}
	if len(paths) == 0 {
		for _, info := range describeAll(files) {
			if asked != "" && strings.EqualFold(info.Name, asked) {
				paths, ids = append(paths, info.Path), append(ids, info.ID)
			}
		}
	}
	if len(paths) == 1 {
		return paths[0], nil
	}
	slices.Sort(ids)
	if len(ids) > 0 {
		return "", lookupError("session %s: ambiguous, it may be %s", asked, strings.Join(ids, ", "))
	}
	return "", lookupError("session %s: no such ID or name", asked)
}

// idOf is the ID in a file's name, or the whole name if artoo did not make it.
func idOf(path string) string {
	id, _ := parseName(path)
	return id
}

// parseName is the ID in a file's name and the time it was made, or the whole name and zero if artoo did not make it.
func parseName(path string) (id string, made time.Time) {
	name := strings.TrimSuffix(filepath.Base(path), fileExt)
	if i := len(stamp); len(name) > i+1 && name[i] == '-' {
		if made, err := time.Parse(stamp, name[:i]); err == nil {
			return name[i+1:], made
		}
	}
	return name, time.Time{}
}

// describer describes session files for lists, one after another.
type describer struct {
	head, tail []byte
	size       int64 // size of the file
	counted    counting
}

// describe describes a file; after an error as far as it could be read.
func (d *describer) describe(of found) (Info, error) {
	info := Info{Path: of.path, Updated: of.modified}
	info.ID, info.Started = parseName(of.path)
	f, err := openRead(of.path)
	if err != nil {
		return info, err
	}
	defer f.Close()
	d.size = of.size
	d.header(f, &info)
	return info, d.end(f, &info)
}

// Info describes the session as List does. The file must be there.
func (s *Session) Info() (Info, error) {
	stat, err := os.Stat(s.path)
	if err != nil {
		return Info{}, fileError(s.path, err)
	}
	var d describer
	info, err := d.describe(found{s.path, stat.ModTime(), stat.Size()})
	return info, fileError(s.path, err)
}

// header reads the header if it is the first line and can be read. end reports an error.
func (d *describer) header(f io.ReaderAt, info *Info) {
	d.head = slices.Grow(d.head[:0], headBytes)[:min(headBytes, d.size)]
	n, _ := f.ReadAt(d.head, 0)
	d.head = d.head[:n]
	line, _, whole := bytes.Cut(d.head, []byte{'\n'})
	if !whole { // a long system prompt
		line, _ = bufio.NewReader(io.NewSectionReader(f, 0, d.size)).ReadBytes('\n')
	}
	e, err := decodeEntry(withoutSystem(line))
	if h, ok := e.payload.(*Header); ok && err == nil {
		info.CWD, info.Started, info.Provider, info.ForkOf, info.Headless = h.CWD, h.Started, h.Provider, h.ForkOf, h.Headless
		info.Model = h.Model
	}
}

// withoutSystem is a header's line without the system prompt, which is most of it.
func withoutSystem(line []byte) []byte {
	before, prompt, _ := bytes.Cut(line, []byte(`,"system":"`))
	for end := 0; ; end++ {
		next := bytes.IndexByte(prompt[end:], '"')
		if next < 0 {
			return line
		}
		end += next
		if backslashes := end - len(bytes.TrimRight(prompt[:end], `\`)); backslashes%2 == 0 {
			return slices.Concat(before, prompt[end+1:])
		}
	}
}

// end reads the number of messages, the last model and the cost at the end of the file.
func (d *describer) end(f io.ReaderAt, info *Info) error {
	counted := &d.counted
	for _, length := range []int64{tailBytes, longTail} {
		from := max(0, d.size-length)
		tail, err := d.from(f, from)
		if err != nil {
			return err
		}
		if from > 0 {
			_, tail, _ = bytes.Cut(tail, []byte{'\n'})
		}
		*counted = counting{known: from == 0}
		for line := range bytes.Lines(tail) {
			counted.line(bytes.TrimRight(line, "\n"))
		}
		if counted.known {
			d.counted.fill(info)
			return nil
		}
	}
	*counted = counting{known: true}
	_, _, err := eachLine(f, func(_ place, _ int, line []byte) { counted.line(line) })
	d.counted.fill(info)
	return err
}

func (d *describer) from(f io.ReaderAt, from int64) ([]byte, error) {
	if int64(len(d.head)) == d.size {
		return d.head[from:], nil
	}
	d.tail = slices.Grow(d.tail[:0], int(d.size-from))[:d.size-from]
	n, err := f.ReadAt(d.tail, from)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return d.tail[:n], err
}

// counting adds up lines, from a turn marker on, which has the sums before it.
type counting struct {
	turnRecord
	totals Totals
	asked  []byte // the first message of the user where no marker names it
	known  bool   // a marker was found, or the lines are all there are
	older  bool   // it lacks the sums
}

func (c *counting) line(line []byte) {
	b, ok := parseBeginning(line)
	if !ok {
		return
	}
	switch k := b.kindOf(); {
	case k == kindTurn:
		before := c.turnRecord
		c.turnRecord = turnRecord{}
		if json.Unmarshal(line, &c.turnRecord) != nil {
			c.turnRecord = before
			return
		}
		c.known, c.older = true, c.Totals == nil
		if !c.older {
			c.totals = *c.Totals
		}
	case k == kindUsage:
		var u UsageRecord
		if json.Unmarshal(line, &u) == nil {
			c.totals.add(u)
		}
	case k == kindName:
		var n Note
		if json.Unmarshal(line, &n) == nil {
			c.Name = n.Text
		}
	case k.message():
		c.Messages++
		if k == kindUser && c.asked == nil {
			c.asked = bytes.Clone(line)
		}
	}
}

func (c *counting) fill(info *Info) {
	if c.First == "" {
		if e, err := decodeEntry(c.asked); err == nil {
			c.First = firstWords(e.payload.(*messageRecord).Message)
		}
	}
	info.Messages, info.First, info.Name = c.Messages, c.First, c.Name
	info.CWD = cmp.Or(info.CWD, c.CWD)
	if c.Model != "" {
		info.Model = c.Model
	}
	if !c.older {
		info.CostUSD = c.totals.CostUSD
	}
}

func firstWords(m provider.Message) string {
	for _, p := range m.Parts {
		t, ok := p.(provider.Text)
		if !ok {
			continue
		}
		words := strings.Fields(strings.ToValidUTF8(text.Cut(t.Text, 8*firstChars), ""))
		if len(words) > 0 {
			return text.Clip(strings.Join(words, " "), firstChars)
		}
	}
	return ""
}

// sessionFile saves six system calls of os.Open, which counts with 10,000 sessions.
type sessionFile int

// openRead opens a file for reading. Errors are *fs.PathError, as those of os.Open.
func openRead(path string) (sessionFile, error) {
	for {
		fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
		if err == nil {
			return sessionFile(fd), nil
		}
		if err != unix.EINTR {
			return -1, &fs.PathError{Op: "open", Path: path, Err: err}
		}
	}
}

// ReadAt implements io.ReaderAt.
func (f sessionFile) ReadAt(p []byte, at int64) (n int, err error) {
	for n < len(p) {
		got, err := unix.Pread(int(f), p[n:], at+int64(n))
		switch {
		case err == unix.EINTR:
		case err != nil:
			return n, err
		case got == 0:
			return n, io.EOF
		default:
			n += got
		}
	}
	return n, nil
}

// Close implements io.Closer.
func (f sessionFile) Close() error { return unix.Close(int(f)) }
