package agent

import (
	"crypto/rand"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"artoo/tool"
	"artoo/tool/shell"
)

// backgroundCalls are calls whose command goes on in the background, or has ended there unseen.
type backgroundCalls struct {
	mu    sync.Mutex
	calls []*pending

	watches   sync.WaitGroup // Watches end with the background commands that they look after.
	abandoned sync.WaitGroup // calls that run, or were given up and are still being killed
}

func (l *backgroundCalls) add(p *pending) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls = append(l.calls, p)
}

func (l *backgroundCalls) confines(line string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return line != "" && slices.ContainsFunc(l.calls, func(p *pending) bool { return p.job.Line == line && p.confined != nil })
}

// ended removes those that have ended.
func (l *backgroundCalls) ended() (calls []*pending) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls = slices.DeleteFunc(l.calls, func(p *pending) bool {
		if !p.job.Runs() {
			calls = append(calls, p)
			return true
		}
		return false
	})
	return calls
}

func (l *backgroundCalls) hasEnded() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.ContainsFunc(l.calls, func(p *pending) bool { return !p.job.Runs() })
}

func (l *backgroundCalls) running() []*pending {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(l.calls), func(p *pending) bool { return !p.job.Runs() })
}

// BackgroundCommand is a command that goes on after its call.
type BackgroundCommand struct {
	ID, Line string
	Began    time.Time
	Runs     bool
	End      string // how it ended, in words; "" while it runs
}

// beginBackground lets commands go on in the background, where the model can watch them.
func (s *session) beginBackground() {
	if slices.ContainsFunc(s.opt.Tools, func(t tool.Tool) bool { return t.Name == "shell" }) {
		s.opt.Env.Jobs = &shell.Jobs{Keep: s.keepOutput}
	}
}

// once reports whether the agent is sent one message alone: in a headless run, and as a sub-agent.
func (s *session) once() bool {
	w := s.opt.Workspace
	return s.parent != nil || w != nil && w.Headless
}

// protectRunning protects the files that a landing replaced from background commands.
func (b *backgroundCalls) protectRunning(cb *serial) {
	for _, p := range b.running() {
		if p.confined == nil {
			continue
		}
		if err := p.confined.Protect(); err != nil {
			cb.notice(NoticeWarning, "background command "+p.job.ID+" may write files that programs run automatically: "+err.Error())
		}
	}
}

func (s *session) keepOutput(id string) (io.WriteCloser, string, error) {
	dir := s.outputDir()
	if dir == "" {
		return nil, "", nil
	}
	name := filepath.Join(dir, "background-"+id+"-"+rand.Text()[:6]+".txt")
	return &maskedFile{name: name, text: heldText{mask: s.masked}}, name, nil
}

// maskedFile is a file with marks in place of keys. It is made when the first text comes.
type maskedFile struct {
	name string
	text heldText
	file *os.File
}

func (f *maskedFile) Write(p []byte) (int, error) {
	return len(p), f.write(f.text.add(p))
}

func (f *maskedFile) write(text string) (err error) {
	if text == "" {
		return nil
	}
	if f.file == nil {
		if f.file, err = os.OpenFile(f.name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600); err != nil {
			return err
		}
	}
	_, err = f.file.WriteString(text)
	return err
}

func (f *maskedFile) Close() error {
	err := f.write(f.text.rest())
	if f.file == nil {
		return err
	}
	return f.file.Close()
}
