package journal

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
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
		past, of, err := readPast(s.Dir)
		if err != nil {
			return err
		}
		if of != "" && of != root {
			return fmt.Errorf("the journal is of another project, %s", of)
		}
		if s.InUse, err = inUse(s.Dir); err != nil {
			return err
		}
		if s.ephemeral() {
			if q, _, err := quarantineOf(s.Dir); err != nil || q == nil {
				return err
			} else if keep := past.keeps(q); !keep || s.InUse {
				return q.close()
			} else if err := q.close(); err != nil {
				return err
			}
		}
		j := &Journal{steps: past.steps}
		for _, r := range j.steps {
			j.mark(r)
		}
		for _, r := range j.steps {
			if r.own() && len(r.changes) > 0 {
				s.Steps = append(s.Steps, r.StepInfo)
			}
		}
		sessions = append(sessions, s)
		return past.err
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
	q, past, err := quarantineOf(dir)
	if err != nil {
		return err
	}
	if q != nil {
		keep := past.keeps(q)
		if err := q.close(); err != nil || keep {
			return err
		}
		if err := os.RemoveAll(q.dir.Name()); err != nil {
			return err
		}
	}
	return os.RemoveAll(dir)
}

// keeps reports whether something lies in the quarantine that came there because it
// appeared, or while a command ran that was cut off: the user may have made it.
func (p *past) keeps(q *quarantine) bool {
	for _, h := range q.held {
		dir, _ := split(h.slot)
		if step, err := strconv.Atoi(dir); err == nil && p.others[step] {
			return true
		}
	}
	return false
}

// quarantineOf opens the quarantine of the journal in the directory; nil if there is none.
// The log of the journal says what it is of.
func quarantineOf(dir string) (*quarantine, *past, error) {
	past, root, err := readPast(dir)
	if err != nil || root == "" {
		return nil, nil, err
	}
	st, err := lstatPath(root)
	if err != nil { // the project is gone, and its own directory is all that it may be in
		st, err = lstatPath(dir)
	}
	if err != nil {
		return nil, nil, err
	}
	j := &Journal{cfg: Config{Dir: dir, Root: root}, root: st}
	q, err := j.openQuarantine(false)
	return q, past, err
}

// readPast reads what it can of a log, and whose it is: the last line may be torn, what
// stands before it still happened.
func readPast(dir string) (p *past, root string, err error) {
	data, err := os.ReadFile(filepath.Join(dir, logName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, "", nil
	}
	if err != nil {
		return nil, "", err
	}
	p = newPast("", map[string]uint64{})
	for l := range bytes.Lines(data) {
		var one line
		if bytes.HasPrefix(l, sawPrefix) || json.Unmarshal(l, &one) != nil {
			continue
		}
		one.each(unescape)
		if one.Type == lineJournal {
			root, p.root = one.Root, one.Root
		}
		p.add(one)
	}
	return p, root, nil
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
