package conversation

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"artoo/provider"
)

// picture1 and picture2 are images of a session; no code decodes them.
func picture1() provider.Image {
	return provider.Image{MediaType: "image/png", Name: "one.png", Data: []byte("\x89PNG one")}
}

func picture2() provider.Image {
	return provider.Image{MediaType: "image/jpeg", Data: []byte("\xff\xd8 two")}
}

// withPictures is a session with an image of the user's and one of a result.
func withPictures(t testing.TB, st Store) (*Session, *Conversation) {
	t.Helper()
	s := st.Create(testHeader())
	c := New(Config{OutputDir: s.OutputDir()}, s)
	add(t, c, provider.UserText("what is this?", picture1()), calling("", "c1"))
	r := result("c1", "an image")
	r.Images = []provider.Image{picture2()}
	addResult(t, c, r)
	add(t, c, said(provider.RoleAssistant, "a cat"))
	must(t, c.Sync())
	return s, c
}

// imageFiles are the names of files in a session's output directory.
func imageFiles(t testing.TB, dir string) (names []string) {
	t.Helper()
	files, err := os.ReadDir(dir)
	must(t, err)
	for _, f := range files {
		info, err := f.Info()
		must(t, err)
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", f.Name(), info.Mode())
		}
		names = append(names, f.Name())
	}
	return names
}

func TestImagesAreFilesBesideTheSession(t *testing.T) {
	t.Parallel()
	st := testStore(t)
	s, c := withPictures(t, st)
	add(t, c, provider.UserText("and again", picture1()))
	sent := encoded(t, c.Messages())
	must(t, s.Close())
	names := imageFiles(t, s.OutputDir())
	if len(names) != 2 {
		t.Errorf("files %q: one for each image", names)
	}
	file := readFile(t, s.Path())
	one := summed(picture1())
	want := `{"type":"image","media_type":"image/png","name":"one.png","bytes":8,"sha256":"` + one.SHA256 + `"}`
	if strings.Count(file, want) != 2 || strings.Contains(file, `"data"`) || !strings.Contains(file, `"v":2`) {
		t.Errorf("the file lacks %s:\n%s", want, file)
	}
	if data := readFile(t, filepath.Join(s.OutputDir(), one.SHA256+".png")); data != string(picture1().Data) {
		t.Errorf("the file holds %q", data)
	}
	again, err := st.Open(s.ID())
	must(t, err)
	if got := encoded(t, New(Config{}, again).Messages()); got != sent || len(again.Notices()) > 0 {
		t.Errorf("resumed %s, was %s; %q", got, sent, again.Notices())
	}
	must(t, again.Close())
}

func TestAForkHasTheImagesOfWhatItWasCopiedFrom(t *testing.T) {
	t.Parallel()
	st := testStore(t)
	s, c := withPictures(t, st)
	sent := encoded(t, c.Messages())
	must(t, s.Close())
	fork, err := st.Fork(s.ID(), 0)
	must(t, err)
	forked := New(Config{}, fork)
	if got := encoded(t, forked.Messages()); got != sent {
		t.Errorf("the copy %s, was %s", got, sent)
	}
	if m, err := fork.UserMessage(0); err != nil || len(provider.Images([]provider.Message{m})[0].Data) == 0 {
		t.Errorf("the message of the copy: %+v, %v", m, err)
	}
	add(t, forked, user("go on"))
	must(t, fork.Close())
	_, err = st.Remove(s.ID())
	must(t, err)
	whole, err := st.Open(fork.ID())
	must(t, err)
	if got := encoded(t, New(Config{}, whole).Messages()[:4]); got != sent[:len(sent)-1]+"]" {
		t.Errorf("without the first one %s, was %s", got, sent)
	}
	must(t, whole.Close())
	_, err = st.Remove(fork.ID())
	must(t, err)
	if left, err := os.ReadDir(st.Dir); err != nil || len(left) > 0 {
		t.Errorf("with the last one that names them nothing goes: %v, %v", left, err)
	}
}

func TestAnImageWhoseFileIsGoneIsASentence(t *testing.T) {
	t.Parallel()
	st := testStore(t)
	s, _ := withPictures(t, st)
	must(t, s.Close())
	one, two := summed(picture1()), summed(picture2())
	must(t, os.Remove(filepath.Join(s.OutputDir(), imageName(one))))
	must(t, os.WriteFile(filepath.Join(s.OutputDir(), imageName(two)), []byte("\xff\xd8 2wo"), 0o600))
	again, err := st.Open(s.ID())
	must(t, err)
	if n := again.Notices(); len(n) != 1 || n[0] !=
		"left out, no longer in the session's files: 2 images" {
		t.Errorf("told %q", n)
	}
	c := New(Config{OutputDir: again.OutputDir()}, again)
	got := encoded(t, c.Messages())
	const sentence = "[image one.png: its file is no longer beside the session]"
	if strings.Count(got, sentence) != 1 || !strings.Contains(got, `an image\n[image: its file`) ||
		strings.Contains(got, "sha256") {
		t.Error(got)
	}
	// The same image, sent again, repairs the file.
	add(t, c, provider.UserText("again", picture2()), provider.UserText("again", picture1()))
	must(t, again.Close())
	whole, err := st.Read(s.ID())
	must(t, err)
	if len(whole.Notices()) > 0 {
		t.Errorf("told %q", whole.Notices())
	}
	if img := provider.Images(whole.Messages())[0]; img.Len() != 8 || img.Data != nil {
		t.Errorf("for showing it is %+v", img)
	}
}

func TestAFileOfTheFirstFormatKeepsIt(t *testing.T) {
	t.Parallel()
	st := testStore(t)
	must(t, os.MkdirAll(st.Dir, 0o700))
	path := filepath.Join(st.Dir, "old.jsonl")
	before := `{"type":"session","id":"0","parent":"","time":"2026-03-14T15:30:00Z","v":1,"session":"old","cwd":"/w"}` + "\n" +
		`{"type":"message","id":"1","parent":"0","time":"2026-03-14T15:30:01Z","message":{"role":"user","parts":[` +
		`{"type":"image","media_type":"image/png","data":"iVBORw0K"}]}}` + "\n"
	must(t, os.WriteFile(path, []byte(before), 0o600))
	s, err := st.Open("old")
	must(t, err)
	c := New(Config{OutputDir: s.OutputDir()}, s)
	if got := provider.Images(c.Messages()); len(got) != 1 || string(got[0].Data) != "\x89PNG\r\n" {
		t.Errorf("read %+v", got)
	}
	add(t, c, provider.UserText("another", picture1()))
	must(t, s.Close())
	if after := readFile(t, path); !strings.Contains(after, `"data":"iVBORyBvbmU="`) && !strings.Contains(after, `"data":"`) ||
		strings.Contains(after, "sha256") {
		t.Errorf("an artoo that knows this format cannot read\n%s", after)
	}
	fork, err := st.Fork("old", 0)
	must(t, err)
	copied := New(Config{}, fork)
	add(t, copied, provider.UserText("a third", picture2()))
	must(t, fork.Close())
	both, err := st.Open(fork.ID())
	must(t, err)
	if got := provider.Images(New(Config{}, both).Messages()); len(got) != 3 || string(got[0].Data) != "\x89PNG\r\n" ||
		string(got[2].Data) != string(picture2().Data) || both.Header().V != 2 {
		t.Errorf("the copy holds %+v", got)
	}
	must(t, both.Close())
}

// TestAnImageThatCannotBeKeptIsNotSaid has the file of an image fail: the message is
// not in the history, and no line names the file.
func TestAnImageThatCannotBeKeptIsNotSaid(t *testing.T) {
	t.Parallel()
	for _, when := range []string{"open", "write", "short", "sync"} {
		st := testStore(t)
		s, c := withPictures(t, st)
		full := errors.New("no space left")
		s.store.OpenFile = func(path string, flags int) (File, error) {
			if when == "open" {
				return nil, full
			}
			f, err := os.OpenFile(path, flags, 0o600)
			return &faultyImage{File: f, when: when, err: full}, err
		}
		before, count := readFile(t, s.Path()), c.MessageCount()
		img := provider.Image{MediaType: "image/png", Data: []byte("third")}
		if err := c.Append(provider.UserText("a third", img)); err == nil || !strings.Contains(err.Error(), "no space left") {
			t.Errorf("%s: %v", when, err)
		}
		if names := imageFiles(t, s.OutputDir()); len(names) != 2 || readFile(t, s.Path()) != before ||
			c.MessageCount() != count {
			t.Errorf("%s: left %q", when, names)
		}
		s.store.OpenFile = nil
		must(t, c.Append(provider.UserText("a third", img)))
		must(t, s.Close())
	}
}

type faultyImage struct {
	File
	when string
	err  error
}

func (f *faultyImage) Write(data []byte) (int, error) {
	switch f.when {
	case "write":
		return 0, f.err
	case "short":
		n, _ := f.File.Write(data[:2])
		return n, f.err
	}
	return f.File.Write(data)
}

func (f *faultyImage) Sync() error { return f.err }

// TestATornImageIsWrittenAnew is a file that a kill broke off: no line names it yet.
func TestATornImageIsWrittenAnew(t *testing.T) {
	t.Parallel()
	st := testStore(t)
	s := st.Create(testHeader())
	path := filepath.Join(s.OutputDir(), imageName(summed(picture1())))
	must(t, os.MkdirAll(s.OutputDir(), 0o700))
	must(t, os.WriteFile(path, picture1().Data[:3], 0o600))
	c := New(Config{}, s)
	add(t, c, provider.UserText("look", picture1()))
	must(t, s.Close())
	if readFile(t, path) != string(picture1().Data) {
		t.Error("it is as it broke off")
	}
}

// TestASumThatIsNoSumNamesNoFile is a line of another program.
func TestASumThatIsNoSumNamesNoFile(t *testing.T) {
	t.Parallel()
	st := testStore(t)
	s, _ := withPictures(t, st)
	must(t, s.Close())
	must(t, os.WriteFile(filepath.Join(st.Dir, "key.png"), []byte("secret"), 0o600))
	file := strings.ReplaceAll(readFile(t, s.Path()), summed(picture1()).SHA256, "../key")
	file = strings.ReplaceAll(file, `"bytes":8`, `"bytes":6`)
	must(t, os.WriteFile(s.Path(), []byte(file), 0o600))
	again, err := st.Open(s.ID())
	must(t, err)
	if got := provider.Images(New(Config{}, again).Messages()); len(got) != 1 || len(again.Notices()) != 1 {
		t.Errorf("sent %+v; told %q", got, again.Notices())
	}
	must(t, again.Close())
}

func TestATrimNamesTheFileOfAnImage(t *testing.T) {
	t.Parallel()
	st := testStore(t)
	s, c := withPictures(t, st)
	for range 4 {
		add(t, c, user("more"), said(provider.RoleAssistant, "yes"))
	}
	p := &planner{c: c}
	name := filepath.Join(s.OutputDir(), imageName(summed(picture1())))
	if text := p.imageText("image", picture1()); !strings.Contains(text, name) || len(p.files) > 0 {
		t.Errorf("%s; written %q", text, p.files)
	}
	must(t, s.Close())
}

// A session that lost its first line goes on as one of the present version: its images
// are files, the new ones too.
func TestASessionWithoutItsHeaderKeepsImagesAsFiles(t *testing.T) {
	t.Parallel()
	st := testStore(t)
	s, _ := withPictures(t, st)
	must(t, s.Close())
	_, rest, _ := strings.Cut(readFile(t, s.Path()), "\n")
	must(t, os.WriteFile(s.Path(), []byte(rest), 0o600))
	s, err := st.Open(s.ID())
	must(t, err)
	c := New(Config{}, s)
	img := provider.Image{MediaType: "image/png", Data: []byte("third")}
	add(t, c, provider.UserText("a third", img))
	must(t, s.Close())
	if s.Header().V != formatVersion || strings.Contains(readFile(t, s.Path()), `"data"`) || len(imageFiles(t, s.OutputDir())) != 3 {
		t.Errorf("format %d: %s", s.Header().V, readFile(t, s.Path()))
	}
	s, err = st.Open(s.ID())
	must(t, err)
	if got := provider.Images(New(Config{}, s).Messages()); len(got) != 3 || string(got[2].Data) != "third" {
		t.Errorf("it holds %+v", got)
	}
	must(t, s.Close())
}
