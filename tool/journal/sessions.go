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
// which is not kept: whoever made it removes it at the end, Recover after a kill.
const Ephemeral = "ephemeral-"

func (s Session) ephemeral() bool { return strings.HasPrefix(s.ID, Ephemeral) }

// Sessions returns the journals of the project at root that lie in the state
// directory, the one that was written last first, with the steps that changed
// something. Those that are not kept are left out, unless they hold what may be the user's.
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
		for _, r := range past.steps {
			if r.own() && len(r.changes) > 0 {
				s.Steps = append(s.Steps, r.StepInfo)
			}
		}
		sessions = append(sessions, s)
		return nil
	})
	slices.SortFunc(sessions, func(a, b Session) int { return cmp.Compare(b.Time.UnixNano(), a.Time.UnixNano()) })
	return sessions, err
}

// Recover finishes or takes back what killed processes left undone in the
// project, whatever their session: for the start of the next artoo. cfg is as for
// Open, but for Dir. It reads a few bytes of each journal of the project.
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

// forget removes the journal of a session that is not kept, once nobody has it open.
func (s Session) forget() error {
	if !s.ephemeral() {
		return nil
	}
	if used, err := inUse(s.Dir); used || err != nil {
		return err
	}
	return Remove(s.Dir)
}

// Remove deletes the journal of a session, in the directory, with what it has in
// quarantine. Where that is something that was moved there without the user's yes, as
// files of theirs may be among it, the journal stays.
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

// eachSession calls f with every journal of the project; of one that f cannot
// take in the error is returned at the end.
func eachSession(state, root string, f func(Session) error) error {
	dir := projectDir(state, root)
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
	info, err := file.Stat()
	if err != nil {
		return false, err
	}
	tail := make([]byte, min(info.Size(), 512))
	if _, err := file.ReadAt(tail, info.Size()-int64(len(tail))); err != nil && !errors.Is(err, io.EOF) {
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

func ignoreUnsupported(err error) error {
	if errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	return err
}
