package ledger

import (
	"fmt"
	"math"
	"os"
	"time"
)

// Reservation is one request's share of a day's money. A request counts for the day
// on which it began. It is used by one goroutine at a time.
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

// Raise reserves anew: for a request of which tries that failed have cost lost, and
// another one is about to be made. See Ledger.Reserve for the others.
func (r *Reservation) Raise(lost, least, most float64) error {
	l := r.ledger
	return l.locked(r.date, func(file *os.File) error {
		if r.id == "" {
			l.count++
			r.id, r.date = fmt.Sprintf("%s-%d", l.run, l.count), l.day.date
		}
		held := l.day.held(r.id)
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

// Settle says what the request came to; it does nothing a second time.
func (r *Reservation) Settle(usage Spent) error {
	usage.Time = r.ledger.now()
	return r.end(line{Type: typeSpent, Spent: &usage})
}

// Release says that the request came to nothing; it does nothing after Settle.
func (r *Reservation) Release() error { return r.end(line{Type: typeReleased}) }

func (r *Reservation) end(v line) error {
	if r.over || r.id == "" {
		return nil
	}
	r.over = true
	v.ID = r.id
	return r.ledger.locked(r.date, func(file *os.File) error { return r.ledger.write(file, v) })
}

// Today is the local day and what was spent on it so far, in US dollars.
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
