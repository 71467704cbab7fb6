package conversation

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"artoo/provider"
)

// TestLinesAreFoundAcrossBlocks has lines end everywhere around the blocks in which a
// file is read.
func TestLinesAreFoundAcrossBlocks(t *testing.T) {
	t.Parallel()
	for _, lengths := range [][]int{
		{0}, {lineBuffer - 1, 5}, {lineBuffer, 5}, {lineBuffer - 2, 0, 0, 3}, {3*lineBuffer + 7, 9}, {10, 5 * lineBuffer},
		{lineBuffer - 1, lineBuffer - 1, lineBuffer - 1, 2 * lineBuffer, 1},
	} {
		for _, torn := range []string{"", "torn"} {
			var file strings.Builder
			for i, n := range lengths {
				file.WriteString(strings.Repeat(string(rune('a'+i)), n) + "\n")
			}
			file.WriteString(torn)
			var got []string
			lines, isTorn, err := eachLine(strings.NewReader(file.String()), func(p place, number int, line []byte) {
				if text := file.String()[p.at : p.at+int64(p.size)]; text != string(line) || number != len(got)+1 {
					t.Errorf("%v: line %d is not where it is said to be", lengths, number)
				}
				got = append(got, string(line))
			})
			must(t, err)
			want := strings.Split(strings.TrimSuffix(file.String(), "\n"), "\n")
			if !slices.Equal(got, want) || isTorn != (torn != "") || lines != len(lengths)+1 {
				t.Errorf("%v %q: %d lines, torn %v", lengths, torn, len(got), isTorn)
			}
		}
	}
}

// failingReader fails where it is read beyond so many bytes.
type failingReader struct {
	io.ReaderAt
	from int64
}

func (r failingReader) ReadAt(p []byte, at int64) (int, error) {
	if at >= r.from {
		return 0, os.ErrDeadlineExceeded
	}
	return r.ReaderAt.ReadAt(p, at)
}

func TestAFaultOfReadingIsReturned(t *testing.T) {
	t.Parallel()
	text := strings.NewReader(strings.Repeat("a line\n", lineBuffer))
	for _, from := range []int64{0, lineBuffer, 3 * lineBuffer} {
		if _, _, err := eachLine(failingReader{text, from}, func(place, int, []byte) {}); err != os.ErrDeadlineExceeded {
			t.Errorf("from %d on: %v", from, err)
		}
	}
}

// countedReader counts the bytes read.
type countedReader struct {
	file
	calls, bytes int
}

func (r *countedReader) ReadAt(p []byte, at int64) (int, error) {
	n, err := r.file.ReadAt(p, at)
	r.calls, r.bytes = r.calls+1, r.bytes+n
	return n, err
}

// TestListingReadsHeadAndTail counts the bytes read of a session and the memory for them, however long it is.
func TestListingReadsHeadAndTail(t *testing.T) {
	st := testStore(t)
	for _, messages := range []int{4, 400} { // The latter are many times the bytes read.
		s := st.Create(testHeader())
		c := New(Config{}, s)
		for range messages {
			add(t, c, user(strings.Repeat("a question ", 100)), said(provider.RoleAssistant, "an answer"))
		}
		must(t, c.Sync())
		must(t, s.Close())
		f, err := os.Open(s.Path())
		must(t, err)
		stat, err := f.Stat()
		must(t, err)
		r := &countedReader{file: f}
		d := describer{size: stat.Size()}
		var info Info
		d.header(r, &info)
		must(t, d.end(r, &info))
		if most := min(stat.Size(), headBytes+tailBytes); r.calls > 2 || int64(r.bytes) > most || info.Messages != 2*messages || info.CWD == "" {
			t.Errorf("%d messages: %d reads of %d bytes; %+v", messages, r.calls, r.bytes, info)
		}
		of := found{path: s.Path(), size: stat.Size()}
		if allocs := testing.AllocsPerRun(10, func() {
			if _, err := d.describe(of); err != nil {
				t.Error(err)
			}
		}); allocs > 26 {
			t.Errorf("%d messages: %v allocations", messages, allocs)
		}
		must(t, f.Close())
	}
}

// TestAnAppendCostsTheSameHoweverLongTheSessionIs counts the bytes that the file gets
// for a message, and the allocations, in a session of ten lines and in one of 100,000.
func TestAnAppendCostsTheSameHoweverLongTheSessionIs(t *testing.T) {
	type cost struct {
		writes, bytes int
		allocs        float64
	}
	measured := func(lines int) (c cost) {
		st := testStore(t)
		must(t, os.MkdirAll(st.Dir, 0o700))
		path := filepath.Join(st.Dir, "long.jsonl")
		var b bytes.Buffer
		fmt.Fprintln(&b, `{"type":"session","id":"0","parent":"","time":"2026-03-14T15:30:00Z","v":2,"session":"long","cwd":"/w"}`)
		for i := 100_001; i < 100_001+lines; i++ {
			parent := fmt.Sprint(i - 1)
			if i == 100_001 {
				parent = "0"
			}
			fmt.Fprintf(&b, `{"type":"message","id":"%d","parent":"%s","time":"2026-03-14T15:30:00Z","message":{"role":"user",`+
				`"parts":[{"type":"text","text":"hi"}]}}`+"\n", i, parent)
		}
		must(t, os.WriteFile(path, b.Bytes(), 0o600))
		written := &countedFile{}
		st.OpenFile = func(path string, flags int) (File, error) {
			if flags&os.O_RDWR != 0 {
				t.Error("it is opened for reading too")
			}
			f, err := os.OpenFile(path, flags, 0o600)
			written.File = f
			return written, err
		}
		s, err := st.Open("long")
		must(t, err)
		_, err = s.append(typeMessage, &messageRecord{user("the same")}) // opens the file
		must(t, err)
		*written = countedFile{File: written.File}
		const appends = 50
		c.allocs = testing.AllocsPerRun(appends-1, func() {
			_, err := s.append(typeMessage, &messageRecord{user("the same")})
			must(t, err)
		})
		c.writes, c.bytes = written.writes, written.bytes
		must(t, s.Close())
		if c.writes != appends {
			t.Errorf("%d writes for %d lines", c.writes, appends)
		}
		return c
	}
	const lines = 20_000
	more := 1.0
	if testing.Short() { // under the race detector, where pools forget at random
		more = 5
	}
	short, long := measured(10), measured(lines)
	if long.allocs > short.allocs+more || long.bytes != short.bytes {
		t.Errorf("a message costs %+v after 10 lines, %+v after %d", short, long, lines)
	}
}

type countedFile struct {
	File
	writes, bytes int
}

func (f *countedFile) Write(line []byte) (int, error) {
	n, err := f.File.Write(line)
	f.writes, f.bytes = f.writes+1, f.bytes+n
	return n, err
}
