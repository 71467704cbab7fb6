package files

import "os"

// Watched are the seen files as they were when a command of the model's own began. The zero value watches none.
type Watched struct {
	seen   *Seen
	before map[string]State
}

// Watch watches the seen files while a command of the model's own runs.
func (s *Seen) Watch() Watched {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := Watched{s, map[string]State{}}
	for abs, known := range s.files {
		if now := lookAt(abs); now.Same(known.State) || known.ChangedByCommand(now) {
			w.before[abs] = now
		}
	}
	return w
}

// Done is called once, when the command is done: changes by then count as the model's.
func (w Watched) Done() {
	if w.seen == nil {
		return
	}
	s := w.seen
	s.mu.Lock()
	defer s.mu.Unlock()
	for abs, was := range w.before {
		if now := lookAt(abs); !now.Same(was) {
			known := s.files[abs]
			known.ours = &now
			s.files[abs] = known
		}
	}
}

// lookAt describes a file without its content.
func lookAt(abs string) State {
	info, err := os.Lstat(abs)
	if err != nil {
		return State{Missing: true}
	}
	return State{ModTime: info.ModTime(), Size: info.Size()}
}
