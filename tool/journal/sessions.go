package journal

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/gofrs/flock"
)

// Ephemeral is how the name of the directory begins that holds the journal of a session
// which is not kept: its maker removes it at the end, Recover after a kill.
const Ephemeral = "ephemeral-"

func (s Session) ephemeral() bool { return strings.HasPrefix(s.ID, Ephemeral) }

// Sessions returns the journals of the project at root that lie in the state
// directory, the one that was written last first, with the turns that changed
// something. Those that are not kept are left out, unless they hold files that may be the user's.
func Sessions(state, root string) ([]Session, error) {
	var sessions []Session
	err := eachSession(state, root, func(s Session) error {
		past, err := readPast(s.Dir)
		if err := errors.Join(err, past.of(root)); err != nil {
			return err
		}
		if s.InUse, err = inUse(s.Dir); err != nil {
			return err
		}
		if s.ephemeral() {
			if _, keep, err := past.keeps(s.Dir); err != nil || !keep || s.InUse {
				return err
			}
		}
		s.Turns = turnsOf(past.steps)
		sessions = append(sessions, s)
		return nil
	})
	slices.SortStableFunc(sessions, func(a, b Session) int { return cmp.Compare(b.Time.UnixNano(), a.Time.UnixNano()) })
	return sessions, err
}

// turnsOf are the turns of steps that changed something, in order.
func turnsOf(steps []*record) (turns []SessionTurn) {
	steps = slices.DeleteFunc(slices.Clone(steps), func(r *record) bool { return !r.own() || len(r.changes) == 0 })
	for len(steps) > 0 {
		first, n := steps[0], 0
		turn := SessionTurn{Turn: first.Turn, Undone: first.Undone}
		for ; n < len(steps) && steps[n].Turn == first.Turn && steps[n].Undone == first.Undone; n++ {
			turn.Steps = append(turn.Steps, steps[n].StepInfo)
		}
		turn.Paths, steps = len(net(steps[:n])), steps[n:]
		turns = append(turns, turn)
	}
	return turns
}

// Orphans returns the journals of all projects below the state directory whose session is kept no more or never was, as
// that of a command whose changes were kept. Those that a running artoo has are left out. kept reports whether there is a
// session of an ID.
func Orphans(state string, kept func(id string) bool) (list []Session, err error) {
	projects, err := os.ReadDir(filepath.Join(state, "journal"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, p := range projects {
		err = errors.Join(err, eachIn(filepath.Join(state, "journal", p.Name()), func(s Session) (err error) {
			if s.ephemeral() || kept(s.ID) {
				return nil
			}
			if s.InUse, err = inUse(s.Dir); err == nil && !s.InUse {
				list = append(list, s)
			}
			return err
		}))
	}
	return list, err
}

// Recover finishes or takes back steps that killed processes left unfinished in the
// project, whatever their session: for the start of the next artoo. cfg is as for
// Open, except for Dir. It reads a few bytes of each journal of the project.
func Recover(state string, cfg Config) ([]Report, error) {
	var reports []Report
	err := eachSession(state, cfg.Root, func(s Session) error {
		if !s.Unfinished {
			return s.forget()
		}
		cfg.Dir = s.Dir
		j, err := Open(cfg)
		if errors.Is(err, ErrInUse) {
			return nil
		}
		if err != nil {
			return err
		}
		reports = append(reports, j.Recovered()...)
		pending := j.pending > 0
		if err := j.Close(); err != nil || pending {
			return err // the next one tries again
		}
		return s.forget()
	})
	return reports, err
}

// forget removes the journal of a session that is not kept, once no process has it open.
func (s Session) forget() error {
	if !s.ephemeral() {
		return nil
	}
	if used, err := inUse(s.Dir); used || err != nil {
		return err
	}
	return Remove(s.Dir)
}

// Remove deletes the journal of a session, in the directory, with its quarantine. If anything was moved there without
// the user's yes, the journal stays, as files of theirs may be among it.
func Remove(dir string) error {
	past, err := readPast(dir)
	if err != nil {
		return err
	}
	at, keep, err := past.keeps(dir)
	if err != nil || keep {
		return err
	}
	if at != "" {
		err = os.RemoveAll(at)
	}
	return errors.Join(err, os.RemoveAll(dir))
}

// keeps reports whether something lies in the quarantine of a journal, which is the
// directory at, that came there because it appeared, or while a command ran that was cut
// off: the user may have made it.
func (p *past) keeps(dir string) (at string, keep bool, err error) {
	q, err := p.quarantine(dir)
	if err != nil || q == nil {
		return "", false, err
	}
	for _, h := range q.held {
		dir, _ := split(h.slot)
		step, err := strconv.Atoi(dir)
		keep = keep || err == nil && p.others[step]
	}
	return q.dir.Name(), keep, q.close()
}

// quarantine opens the quarantine of the journal in the directory; nil if there is none.
func (p *past) quarantine(dir string) (*quarantine, error) {
	if p.root == "" {
		return nil, nil
	}
	st, err := lstatPath(p.root)
	if err != nil { // the project is gone, and its own directory is all that it may be in
		st, err = lstatPath(dir)
	}
	if err != nil {
		return nil, err
	}
	j := &Journal{cfg: Config{Dir: dir, Root: p.root}, root: st}
	return j.openQuarantine(false)
}

// readPast reads the log of a journal; of none, nothing.
func readPast(dir string) (*past, error) {
	p := newPast(map[string]uint64{})
	data, err := os.ReadFile(filepath.Join(dir, logName))
	if err == nil {
		_, err = readLines(data, p.add)
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return p, err
}

// eachSession calls f with every journal of the project, and returns all errors.
func eachSession(state, root string, f func(Session) error) error {
	return eachIn(projectDir(state, root), f)
}

// eachIn is eachSession for the directory with the journals of a project.
func eachIn(dir string, f func(Session) error) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) { // no such directory either
		return nil
	}
	var errs []error
	for _, e := range entries {
		s := Session{Dir: filepath.Join(dir, e.Name()), ID: e.Name()}
		info, err := os.Stat(filepath.Join(s.Dir, logName))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			s.Time = info.ModTime()
			s.Unfinished, err = endsUnfinished(filepath.Join(s.Dir, logName))
		}
		if err == nil {
			err = f(s)
		}
		errs = append(errs, err)
	}
	return errors.Join(append(errs, err)...)
}

// endsUnfinished reports whether a log ends within a step: steps that overlap are
// seen as well, since the end of each says how many are left.
func endsUnfinished(path string) (bool, error) {
	file, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer file.Close()
	_, _ = file.Seek(-512, io.SeekEnd) // A shorter log is read from its beginning.
	tail, err := io.ReadAll(file)
	if err != nil {
		return false, err
	}
	if !bytes.HasSuffix(tail, []byte("\n")) {
		return true, nil
	}
	last := tail[bytes.LastIndexByte(tail[:len(tail)-1], '\n')+1:]
	var l line
	if json.Unmarshal(last, &l) != nil {
		return true, nil // longer than the lines that end something
	}
	return l.Type != lineJournal && (l.Type != lineEnd || l.Open > 0), nil
}

// inUse reports whether a running artoo has the journal.
func inUse(dir string) (bool, error) {
	lock := flock.New(filepath.Join(dir, lockName), flock.SetPermissions(0o600))
	got, err := lock.TryLock()
	if err != nil {
		return false, ignoreUnsupported(err)
	}
	if !got {
		return true, nil
	}
	return false, lock.Unlock()
}

// Copy makes to a copy of the journal in from, for a session that is a copy of
// another: earlier changes can be undone in both. It does nothing where
// there is nothing to copy, or where to is there already, and returns [ErrInUse]
// while an artoo writes to from.
func Copy(from, to string) error {
	if _, err := os.Lstat(filepath.Join(from, logName)); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if _, err := os.Lstat(to); err == nil {
		return nil
	}
	if used, err := inUse(from); err != nil || used {
		return errors.Join(err, ErrInUse)
	}
	// A copy that is cut off has another name, which no reader looks for.
	part, err := os.MkdirTemp(filepath.Dir(to), ".copy-*")
	if err != nil {
		return err
	}
	if err := copyContents(from, part); err != nil {
		return errors.Join(err, os.RemoveAll(part))
	}
	if err := os.Rename(part, to); err != nil {
		return errors.Join(err, os.RemoveAll(part))
	}
	return nil
}

// copyContents copies the log and the contents of a journal. Files in its quarantine are contents of the copy: they
// stay there. Directories and files that only a rename can bring back are not in the copy.
func copyContents(from, to string) error {
	text, err := os.ReadFile(filepath.Join(from, logName))
	if err := errors.Join(err, os.WriteFile(filepath.Join(to, logName), text, 0o600)); err != nil {
		return err
	}
	s, err := openStore(filepath.Join(to, objectsName), defaultMaxSession, func(string) error { return nil })
	if err != nil {
		return err
	}
	defer s.close()
	objects := filepath.Join(from, objectsName)
	entries, err := os.ReadDir(objects)
	for _, e := range entries { // A content is never changed, so both journals can name one file.
		path := filepath.Join(objects, e.Name())
		if e.Name() == partName || os.Link(path, s.path(e.Name())) == nil {
			continue
		}
		data, readErr := os.ReadFile(path)
		_, putErr := s.put(data, true)
		err = errors.Join(err, readErr, putErr)
	}
	if err != nil {
		return err
	}
	past, err := readPast(from)
	if err != nil {
		return err
	}
	q, err := past.quarantine(from)
	if err != nil || q == nil {
		return err
	}
	for _, h := range q.held {
		err = errors.Join(err, s.addSlot(q, h.slot))
	}
	return errors.Join(err, q.close())
}

// addSlot keeps a file that lies in the quarantine of a journal.
func (s *store) addSlot(q *quarantine, slot string) error {
	if st, err := statAt(int(q.dir.Fd()), slot); err != nil || st.kind() != File || st.size > s.limit {
		return err
	}
	f, err := q.open(slot)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = s.write(f, "", false)
	return ignoreNoSpace(err)
}
