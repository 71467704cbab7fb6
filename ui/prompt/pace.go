package prompt

import (
	"bytes"
	"sync"
	"time"
)

const (
	// paceSpan is how long a terminal may take to show a whole window.
	paceSpan = 800 * time.Millisecond
	// paceFirst is the window of a terminal that has not answered yet: 1,280 bytes a second.
	paceFirst, paceLeast, paceMost = 1024, 320, 64 << 10
	// paceFew bytes take no time to speak of: an answer behind them takes that of the way there and back.
	paceFew = 128
	// paceStep is how many bytes are written between two queries, or half a window if that is less.
	paceStep = 512
	// paceWait is how long the first answer is waited for, paceStall a later one: the line may stand still.
	paceWait, paceStall = 2 * time.Second, 10 * time.Second
	// paceAsks is after how many queries without an answer no more are sent.
	paceAsks = 3

	// statusQuery asks a terminal whether it works, and statusAnswer says that it does.
	statusQuery, statusAnswer = "\x1b[5n", "\x1b[0n"
)

// pace keeps little on its way to a terminal behind an ssh connection. sshd takes whatever is written and holds
// megabytes of it, so only the terminal can say what it has shown: it answers a query when it comes to it. A terminal
// that does not answer counts as one that shows a first window in each paceSpan. Any goroutine may use it.
type pace struct {
	answered chan struct{}

	mu sync.Mutex
	// listening says that someone reads answers; else nothing is held back.
	listening bool
	// window is how many bytes may be on their way, and full that some had to wait since the last answer.
	window int
	full   bool
	// quick is how many answers in turn came quicker than the window needs.
	quick int
	// trip is the shortest time that an answer took behind few bytes; 0 before there was one.
	trip  time.Duration
	ahead ahead
	query query
}

// ahead are the bytes on their way.
type ahead struct {
	bytes int
	// since is when the first of them was written or the last answer came. Up to ticked, bytes that no query follows
	// are counted as shown.
	since, ticked time.Time
}

// query is the last query.
type query struct {
	at time.Time
	// covers is how many bytes on their way stand before it, 0 when it is not waited for; after, how many were written
	// since.
	covers, after int
	// unheard is how many in turn had no answer. patience is how long one is waited for.
	unheard  int
	patience time.Duration
}

func newPace() *pace {
	first := query{after: paceStep, patience: paceWait}
	return &pace{answered: make(chan struct{}, 1), window: paceFirst, query: first}
}

// next is how many bytes of a text are to be written now, and the query to write behind them; 0 after a short wait asks
// to be called again. A query stands behind a row or the whole text: there no sequence is open.
func (p *pace) next(text []byte) (n int, ask string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	step := min(paceStep, p.window/2)
	n = min(step, len(text))
	if !p.listening {
		return n, ""
	}
	now := time.Now()
	if p.elapse(now); p.ahead.bytes+n > p.window {
		p.full = true
		p.sleep()
		return 0, ""
	}
	if p.query.covers == 0 && p.query.unheard < paceAsks && p.query.after+n >= step {
		if row := bytes.LastIndexByte(text[:n], '\n') + 1; n == len(text) {
			ask = statusQuery
		} else if row > 0 {
			n, ask = row, statusQuery
		}
	}
	if p.ahead.bytes == 0 {
		p.ahead.since, p.ahead.ticked = now, now
	}
	p.ahead.bytes += n
	if p.query.after += n; ask != "" {
		p.query.after, p.query.covers, p.query.at = 0, p.ahead.bytes, now
	}
	return n, ask
}

// elapse gives up an answer that does not come, and counts bytes without a query as shown in time.
func (p *pace) elapse(now time.Time) {
	switch late := now.Sub(p.query.at) >= p.query.patience; {
	case p.query.covers == 0:
	case late:
		p.query.covers, p.quick, p.window = 0, 0, min(p.window, paceFirst)
		p.query.unheard++
	case p.query.unheard == 0:
		p.ahead.ticked = now
		return
	}
	if shown := int(int64(p.window) * int64(now.Sub(p.ahead.ticked)) / int64(paceSpan)); shown > 0 {
		p.ahead.bytes, p.ahead.ticked = max(0, p.ahead.bytes-shown), now
	}
}

// sleep waits for an answer, for a short time, with the lock open.
func (p *pace) sleep() {
	p.mu.Unlock()
	defer p.mu.Lock()
	select {
	case <-p.answered:
	case <-time.After(throttleSlice):
	}
}

// hear takes the answers out of the input.
func (p *pace) hear(input []byte) []byte {
	if p == nil || !bytes.Contains(input, []byte(statusAnswer)) {
		return input
	}
	p.answer()
	return bytes.ReplaceAll(input, []byte(statusAnswer), nil)
}

// answer learns how fast the terminal is, from the time beyond that of an answer to a query alone, such as the one at
// the first prompt. One quick answer is not believed, since a slow line may take a little at once.
func (p *pace) answer() {
	p.mu.Lock()
	defer p.mu.Unlock()
	covers, now := p.query.covers, time.Now()
	if p.query.covers, p.query.unheard, p.query.patience = 0, 0, paceStall; covers == 0 {
		return
	}
	took := now.Sub(p.query.at)
	if covers <= paceFew && (p.trip == 0 || took < p.trip) {
		p.trip = took
	}
	took = max(took-p.trip, now.Sub(p.ahead.since)-p.trip, time.Millisecond)
	switch window := int(int64(covers) * int64(paceSpan) / int64(took)); {
	case window > p.window:
		if p.quick++; p.quick >= throttleSure {
			p.window = min(window, 2*p.window, paceMost)
		}
	case p.full:
		p.window, p.quick = max(window, paceLeast), 0
	}
	p.full, p.ahead = false, ahead{max(0, p.ahead.bytes-covers), now, now}
	select {
	case p.answered <- struct{}{}:
	default:
	}
}

// forget no longer waits for the answer: the query may have been thrown away.
func (p *pace) forget() {
	if p != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.query.covers = 0
	}
}

// listen says that answers are heard from now on.
func (p *pace) listen() {
	if p != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.listening, p.ahead.bytes = true, 0
	}
}

// hush ends the queries, and waits for the answer to the last: another program would read it as typed. again
// takes them up where they were.
func (p *pace) hush() (again func()) {
	again = func() {}
	if p == nil {
		return again
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.listening {
		again = p.listen
	}
	p.listening = false
	for p.query.covers > 0 && p.query.unheard == 0 && time.Since(p.query.at) < paceWait {
		p.sleep()
	}
	p.query.covers = 0
	return again
}
