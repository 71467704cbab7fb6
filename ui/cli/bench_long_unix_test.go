//go:build unix

package cli

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"artoo/agent/ledger"
	"artoo/provider"
)

// longSteps is how many steps the conversation of the benchmark has, in longWindow
// tokens.
const (
	longSteps  = 2000
	longWindow = 32_768
)

// long measures a conversation of many steps in a small window: the part of a request
// that is new, the memory, and the time of a step, late compared with early.
func (s *suite) long(b *testing.B) {
	var at [5]time.Duration // processor time at each quarter
	p := &patient{window: longWindow, perTurn: 50, result: 900}
	p.each = func(requests int) {
		if quarter := requests * 4 / longSteps; at[quarter] == 0 {
			at[quarter] = processorTime(b)
		}
	}
	longRun(b, p, longSteps)
	what := fmt.Sprintf("a conversation of %d steps in a window of %d tokens: ", longSteps, longWindow)
	s.add(row{what: what + "of a request that does not repeat the one before", value: 100 * (1 - p.share()), unit: "%",
		beside: fmt.Sprintf("%d of %d requests repeat less than half", p.broken, p.requests), most: 10})
	s.add(row{what: what + "in use at its end", value: megabytes(int64(p.heap)), unit: "MB",
		beside: fmt.Sprintf("half-way %.3g MB", megabytes(int64(p.halfed))), ratio: float64(p.heap) / float64(p.halfed), mostRatio: 1.5})
	step := func(quarter int) float64 { return millis(at[quarter]-at[quarter-1]) / (longSteps / 4) }
	s.add(row{what: what + "CPU of a step in the last quarter, with the server's", value: step(4), unit: "ms",
		beside: fmt.Sprintf("in the second %.3g ms", step(2)), ratio: step(4) / step(2), mostRatio: 1.25})
}

// processorTime is the time on processors that this process has used.
func processorTime(t testing.TB) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// ledgerRequests is how many requests of a day the ledger is asked for in a row.
const ledgerRequests = 2000

// ledger measures how long a request of a run under a daily cap waits for the ledger.
func (s *suite) ledger(b *testing.B) {
	l := ledger.Open(b.TempDir(), time.Now)
	cost := 1e-6
	request := func() time.Duration {
		began := time.Now()
		for range ledgerRequests {
			spent := ledger.Spent{Time: began, Provider: "compatible", Model: "m", Dir: "/w", Session: "s",
				Usage: provider.Usage{Input: 900, Output: 90}, CostUSD: &cost}
			r, err := l.Reserve(spent, cost, 2*cost, 1000)
			if err == nil {
				err = r.Settle(spent)
			}
			if err != nil {
				b.Fatal(err)
			}
		}
		return time.Since(began) / ledgerRequests
	}
	first, late := request(), time.Duration(0)
	for range 4 {
		late = request()
	}
	if err := l.Close(); err != nil {
		b.Fatal(err)
	}
	micros := func(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
	s.add(row{what: "the ledger of the day, a request", value: micros(first), unit: "µs",
		beside: fmt.Sprintf("after %d requests of the day %.0f µs", 4*ledgerRequests, micros(late)),
		ratio:  float64(late) / float64(first), mostRatio: 2})
}
