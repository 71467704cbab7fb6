// Package ledger records the spending of all runs of the user: a line of JSON for each
// request, in a file for each local day, so that a cap on a day's money holds over
// processes. docs/formats.md describes the files.
//
// A request is reserved with its worst case before it is made, and settled with its real cost. The reservation of a
// killed run is dropped: of its request only the part sent counts.
package ledger

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"artoo/provider"
	"artoo/tool/text"
)

const (
	lockName = "lock"
	runExt   = ".run" // A run keeps this file locked while it may have reservations.
	dayExt   = ".jsonl"
	// lockTime is how long others may hold the lock before that is an error: a process that was
	// stopped does.
	lockTime = 10 * time.Second
)

// Spent is the usage and cost of one request.
type Spent struct {
	Time      time.Time      `json:"time"` // local
	Provider  string         `json:"provider"`
	Model     string         `json:"model"`
	Dir       string         `json:"dir,omitempty"` // "" of a run that keeps no session
	Session   string         `json:"session,omitempty"`
	Ephemeral bool           `json:"ephemeral,omitempty"`
	Usage     provider.Usage `json:"usage"`
	CostUSD   *float64       `json:"cost_usd"` // nil where no price is known
	// Quota is the state of the server's rate limits after the request; nil where the server does not say it.
	Quota *provider.Quota `json:"quota,omitempty"`
}

// line is a line of a day's file.
type line struct {
	Type string `json:"type"`
	ID   string `json:"id"`
	Run  string `json:"run"`
	// Most is the highest cost of a reserved request in US dollars. Its Spent counts where its run dies.
	Most float64 `json:"most_usd,omitempty"`
	*Spent
}

// The types of lines.
const (
	typeReserved = "reserved" // again with the same id: replaces the first one
	typeSpent    = "spent"
	typeReleased = "released" // nothing was spent
)

// Ledger is one run's access to the ledger. Make one with Open. Several goroutines may use it.
type Ledger struct {
	dir string
	run string
	now func() time.Time

	mu     sync.Mutex
	alive  *flock.Flock // nil before the first reservation
	count  int
	day    day
	closed bool
}

// Open gives access to the ledger in a directory, which the first reservation makes. now is
// time.Now except in tests.
func Open(dir string, now func() time.Time) *Ledger {
	return &Ledger{dir: dir, run: fmt.Sprintf("%d-%s", os.Getpid(), rand.Text()[:8]), now: now}
}

// Close ends the run. Nothing is reserved after it.
func (l *Ledger) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	if l.alive == nil {
		return nil
	}
	err := l.alive.Unlock()
	if gone := os.Remove(l.alive.Path()); !errors.Is(gone, fs.ErrNotExist) { // another run may have found it free
		err = errors.Join(err, gone)
	}
	l.alive = nil
	return err
}

// FullError means that a day's money does not pay for a request.
type FullError struct {
	Day   string  // 2006-01-02
	Cap   float64 // US dollars
	Spent float64
	Held  float64 // Requests under way may still cost this much; 0 for none.
	Least float64 // The request needs at least this much.
}

func (e *FullError) Error() string {
	return "all runs have spent " + text.Dollars(e.Spent) + " of the " + text.Dollars(e.Cap) + " for " + e.Day
}

// Reserve notes that a request begins, which costs at least known.CostUSD and at most most US
// dollars, +Inf for all that is left. It is granted the rest of the day's cap (0 is no cap):
// less than least is a FullError. With an error there is no reservation.
func (l *Ledger) Reserve(known Spent, least, most, limit float64) (*Reservation, error) {
	r := &Reservation{ledger: l, known: known, limit: limit}
	if err := r.Raise(0, least, most); err != nil {
		return nil, err
	}
	return r, nil
}

// locked runs f under the lock of the ledger, with the day's file read. date is "" for today.
func (l *Ledger) locked(date string, f func(file *os.File) error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return errors.New("ledger: the run is over")
	}
	if err := os.MkdirAll(l.dir, 0o700); err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	lock := flock.New(filepath.Join(l.dir, lockName), flock.SetPermissions(0o600))
	ctx, stop := context.WithTimeout(context.Background(), lockTime)
	defer stop()
	if got, err := lock.TryLockContext(ctx, 5*time.Millisecond); !got {
		return fmt.Errorf("ledger: cannot lock %s: %w", lock.Path(), err)
	}
	defer lock.Close()
	if err := l.live(); err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	if date == "" {
		date = l.now().Format(time.DateOnly)
	}
	file, err := os.OpenFile(filepath.Join(l.dir, date+dayExt), os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	defer file.Close()
	if l.day.date != date {
		l.day = day{date: date}
	}
	if err := l.day.read(file); err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	l.day.settleDead(func(run string) bool { return run == l.run || lives(l.dir, run) })
	if err := f(file); err != nil {
		return err
	}
	return file.Close()
}

// live takes the lock that shows others that this run is alive.
func (l *Ledger) live() error {
	if l.alive != nil {
		return nil
	}
	alive := flock.New(filepath.Join(l.dir, l.run+runExt), flock.SetPermissions(0o600))
	if got, err := alive.TryLock(); !got {
		return errors.Join(fmt.Errorf("cannot lock %s", alive.Path()), err)
	}
	l.alive = alive
	return nil
}

// lives reports whether a run has its lock, which the kernel frees when the process dies.
func lives(dir, run string) bool {
	path := filepath.Join(dir, filepath.Base(run)+runExt)
	if _, err := os.Stat(path); err != nil {
		return false
	}
	lock := flock.New(path, flock.SetFlag(os.O_RDONLY))
	defer lock.Close()
	if got, err := lock.TryRLock(); !got {
		return !errors.Is(err, fs.ErrNotExist)
	}
	_ = os.Remove(path) // The run was killed. A failure does no harm: the file is found free again.
	return false
}

func (l *Ledger) write(file *os.File, v line) error {
	v.Run = l.run
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	if l.day.torn { // A full disk or a power cut has torn it.
		data = append([]byte("\n"), data...)
	}
	if _, err := file.Write(append(data, '\n')); err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	return nil
}

// day holds the sums of a day's file.
type day struct {
	date    string
	offset  int64 // up to which it was read
	torn    bool  // The rest is no whole line.
	spent   float64
	open    map[string]line // reservations that are not settled, by their ids
	settled []Spent         // kept only where entries is set
	entries bool
}

func (d *day) read(file *os.File) error {
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if info.Size() < d.offset { // the user removed it
		*d = day{date: d.date, entries: d.entries}
	}
	data, err := io.ReadAll(io.NewSectionReader(file, d.offset, math.MaxInt64-d.offset))
	if err != nil {
		return err
	}
	whole := bytes.LastIndexByte(data, '\n') + 1
	d.torn = whole < len(data)
	d.offset += int64(whole)
	for text := range bytes.Lines(data[:whole]) {
		var v line
		if json.Unmarshal(text, &v) == nil { // A torn or hand-written line counts nothing.
			d.take(v)
		}
	}
	return nil
}

func (d *day) take(v line) {
	switch {
	case v.Type == typeReserved && v.Spent != nil:
		if d.open == nil {
			d.open = map[string]line{}
		}
		d.open[v.ID] = v
	case v.Type == typeReleased:
		delete(d.open, v.ID)
	case v.Type == typeSpent && v.Spent != nil:
		delete(d.open, v.ID)
		d.settle(*v.Spent)
	}
}

func (d *day) settle(s Spent) {
	if s.CostUSD != nil {
		d.spent += *s.CostUSD
	}
	if d.entries {
		d.settled = append(d.settled, s)
	}
}

// settleDead settles the reservations of runs that are dead with the input they had sent.
func (d *day) settleDead(lives func(run string) bool) {
	alive := map[string]bool{}
	for id, v := range d.open {
		if _, known := alive[v.Run]; !known {
			alive[v.Run] = lives(v.Run)
		}
		if !alive[v.Run] {
			delete(d.open, id)
			d.settle(*v.Spent)
		}
	}
}

// pendingCost is the highest cost of the requests under way, except one.
func (d *day) pendingCost(except string) (sum float64) {
	for id, v := range d.open {
		if id != except {
			sum += v.Most
		}
	}
	return sum
}

// Reservation is one request's share of the money of the day on which it began, for one goroutine
// at a time.
type Reservation struct {
	ledger *Ledger
	known  Spent
	limit  float64
	id     string
	date   string
	over   bool

	Granted float64 // US dollars that the request may cost; of no use without a cap
	Day     float64 // US dollars that were spent on the day before it
}

// Raise reserves again, for another try: those that failed have cost lost. See Ledger.Reserve for
// the others.
func (r *Reservation) Raise(lost, least, most float64) error {
	l := r.ledger
	return l.locked(r.date, func(file *os.File) error {
		if r.id == "" {
			l.count++
			r.id, r.date = fmt.Sprintf("%s-%d", l.run, l.count), l.day.date
		}
		held := l.day.pendingCost(r.id)
		granted := most
		if r.limit > 0 {
			left := r.limit - l.day.spent - held - lost
			if left <= 0 || left < least {
				return &FullError{Day: r.date, Cap: r.limit, Spent: l.day.spent + lost, Held: held, Least: least}
			}
			granted = min(most, left)
		}
		known := r.known
		known.Time = l.now()
		if known.CostUSD != nil {
			known.CostUSD = new(*known.CostUSD + lost)
		}
		v := line{Type: typeReserved, ID: r.id, Spent: &known}
		if !math.IsInf(granted, 1) {
			v.Most = lost + granted
		}
		r.Granted, r.Day = granted, l.day.spent
		return l.write(file, v)
	})
}

// Settle records the cost of the request; it does nothing a second time.
func (r *Reservation) Settle(usage Spent) error {
	usage.Time = r.ledger.now()
	return r.end(line{Type: typeSpent, Spent: &usage})
}

// Release records that the request came to nothing; it does nothing after Settle.
func (r *Reservation) Release() error { return r.end(line{Type: typeReleased}) }

func (r *Reservation) end(v line) error {
	if r.over || r.id == "" {
		return nil
	}
	r.over = true
	v.ID = r.id
	return r.ledger.locked(r.date, func(file *os.File) error { return r.ledger.write(file, v) })
}

// Today is the local day and the spending on it so far, in US dollars.
func (l *Ledger) Today() (date string, spent float64, err error) {
	date = l.now().Format(time.DateOnly)
	entries, err := Read(l.dir, date)
	for _, s := range entries {
		if s.CostUSD != nil {
			spent += *s.CostUSD
		}
	}
	return date, spent, err
}

// Read lists the spending of a day (2006-01-02), as it was settled; nil without a file.
// Requests under way are left out.
func Read(dir, date string) ([]Spent, error) {
	file, err := os.Open(filepath.Join(dir, date+dayExt))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	defer file.Close()
	d := day{date: date, entries: true}
	if err := d.read(file); err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	d.settleDead(func(run string) bool { return lives(dir, run) })
	return d.settled, nil
}
