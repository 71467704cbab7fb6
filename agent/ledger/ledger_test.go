package ledger

import (
	"bufio"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"artoo/provider"
)

// TestMain makes this binary one of several processes, if the environment says so.
func TestMain(m *testing.M) {
	if dir := os.Getenv("LEDGER_SPENDER"); dir != "" {
		spender(dir)
		return
	}
	os.Exit(m.Run())
}

// spender spends a 128th of a dollar at a time as long as the day's dollar lasts, prints how often,
// and keeps a reservation until its input ends if the environment says so.
func spender(dir string) {
	l := Open(dir, time.Now)
	if os.Getenv("LEDGER_HOLD") != "" {
		if _, err := l.Reserve(spent(0.01), 0, 0.9, 1); err != nil {
			fmt.Println(err)
		}
		fmt.Println("reserved")
		_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
		return // There is no Close, as after a kill.
	}
	for n := 0; ; n++ {
		r, err := l.Reserve(spent(0.001), 1.0/128, 1.0/64, 1)
		if full, ok := errors.AsType[*FullError](err); ok && full.Held > 0 {
			n--
			continue
		} else if ok {
			fmt.Println(n)
			break
		}
		if err == nil {
			err = r.Settle(spent(1.0 / 128))
		}
		if err != nil {
			fmt.Println(err)
			break
		}
	}
	if err := l.Close(); err != nil {
		fmt.Println(err)
	}
}

func spent(usd float64) Spent {
	return Spent{Provider: "p", Model: "m", Dir: "/d", Usage: provider.Usage{Input: 10}, CostUSD: &usd}
}

func process(t *testing.T, env ...string) *exec.Cmd {
	t.Helper()
	program, err := os.Executable()
	must(t, err)
	cmd := exec.CommandContext(t.Context(), program)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stderr = os.Stderr
	return cmd
}

// sum is the spending of the clock's day.
func sum(t *testing.T, l *Ledger) float64 {
	t.Helper()
	_, usd, err := l.Today()
	must(t, err)
	return usd
}

func near(a, b float64) bool { return math.Abs(a-b) < 1e-9 }

func TestEightProcessesShareOneDaysMoney(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "ledger")
	var out [8]strings.Builder
	var all []*exec.Cmd
	for i := range out {
		cmd := process(t, "LEDGER_SPENDER="+dir)
		cmd.Stdout = &out[i]
		must(t, cmd.Start())
		all = append(all, cmd)
	}
	total := 0
	for i, cmd := range all {
		must(t, cmd.Wait())
		n, err := strconv.Atoi(strings.TrimSpace(out[i].String()))
		if err != nil {
			t.Fatalf("process %d: %s", i, out[i].String())
		}
		total += n
	}
	if total != 128 {
		t.Errorf("%d 128ths of a dollar were spent", total)
	}
	if usd := sum(t, Open(dir, time.Now)); !near(usd, 1) {
		t.Errorf("the ledger has $%v", usd)
	}
	if runs, _ := filepath.Glob(filepath.Join(dir, "*"+runExt)); len(runs) > 0 {
		t.Errorf("left: %q", runs)
	}
}

func TestAReservationEndsWithItsProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	other := process(t, "LEDGER_SPENDER="+dir, "LEDGER_HOLD=1")
	in, err := other.StdinPipe()
	must(t, err)
	defer in.Close()
	out, err := other.StdoutPipe()
	must(t, err)
	must(t, other.Start())
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "reserved\n" {
		t.Fatalf("%q, %v", line, err)
	}
	l := Open(dir, time.Now)
	defer l.Close()
	_, err = l.Reserve(spent(0.01), 0.2, 0.2, 1)
	if full, ok := errors.AsType[*FullError](err); !ok || !near(full.Held, 0.9) || full.Spent != 0 {
		t.Fatalf("while it runs: %v", err)
	}
	must(t, other.Process.Kill())
	_ = other.Wait() // it was killed
	r, err := l.Reserve(spent(0.01), 0.2, 0.2, 1)
	if err != nil || !near(r.Day, 0.01) {
		t.Fatalf("what it had sent counts, and no more: %+v, %v", r, err)
	}
}

func TestARequestGetsWhatIsLeft(t *testing.T) {
	t.Parallel()
	l := Open(t.TempDir(), time.Now)
	defer l.Close()
	first, err := l.Reserve(spent(0.1), 0.2, 0.7, 1)
	if err != nil || first.Granted != 0.7 {
		t.Fatal(first, err)
	}
	second, err := l.Reserve(spent(0.1), 0.2, 0.7, 1)
	if err != nil || !near(second.Granted, 0.3) {
		t.Fatal(second, err)
	}
	if _, err := l.Reserve(spent(0.1), 0.2, 0.7, 1); err == nil {
		t.Error("a third one was granted")
	}
	must(t, errors.Join(first.Settle(spent(0.15)), first.Settle(spent(5)), second.Release(), second.Release()))
	third, err := l.Reserve(spent(0.1), 0.2, math.Inf(1), 1)
	if err != nil || !near(third.Granted, 0.85) || !near(third.Day, 0.15) {
		t.Fatal(third, err)
	}
	// A try that failed has cost 30 cents.
	if err := third.Raise(0.3, 0.2, 5); err != nil || !near(third.Granted, 0.55) {
		t.Error(third, err)
	}
	if err := third.Raise(0.7, 0.2, 5); err == nil {
		t.Error("more than the rest was granted to another try")
	}
}

func TestWhatNobodyCapsIsCountedForThoseWhoDo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	free, capped := Open(dir, time.Now), Open(dir, time.Now)
	defer free.Close()
	defer capped.Close()
	r, err := free.Reserve(spent(0.1), 0, 0.9, 0)
	must(t, err)
	if c, err := capped.Reserve(spent(0), 0, 1, 1); err != nil || !near(c.Granted, 0.1) {
		t.Fatal(c, err)
	} else if err := c.Release(); err != nil {
		t.Fatal(err)
	}
	must(t, r.Settle(spent(2)))
	if _, err := capped.Reserve(spent(0), 0, 1, 1); err == nil {
		t.Error("a day that is spent was granted more")
	}
}

func TestADayIsTheOneOnWhichARequestBegan(t *testing.T) {
	t.Parallel()
	zone := time.FixedZone("somewhere", -5*3600)
	now := time.Date(2026, 3, 1, 23, 59, 0, 0, zone) // the second of March in UTC
	dir := t.TempDir()
	l := Open(dir, func() time.Time { return now })
	defer l.Close()
	late, err := l.Reserve(spent(0.1), 0, 0.9, 1)
	must(t, err)
	now = now.Add(2 * time.Minute)
	next, err := l.Reserve(spent(0.1), 0, 0.9, 1)
	if err != nil || next.Day != 0 {
		t.Fatal(next, err)
	}
	must(t, errors.Join(late.Settle(spent(0.8)), next.Settle(spent(0.3))))
	for date, want := range map[string]float64{"2026-03-01": 0.8, "2026-03-02": 0.3} {
		got, err := Read(dir, date)
		if err != nil || len(got) != 1 || *got[0].CostUSD != want {
			t.Errorf("%s: %+v, %v", date, got, err)
		}
	}
	now = now.Add(-time.Hour) // the clock is set back
	if _, err := l.Reserve(spent(0.1), 0.3, 0.3, 1); err == nil {
		t.Error("a day that was spent was granted once more")
	}
}

func TestATornLineCostsNoOtherLine(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l := Open(dir, time.Now)
	defer l.Close()
	spend := func(usd float64) {
		t.Helper()
		r, err := l.Reserve(spent(0), 0, usd, 0)
		if err == nil {
			err = r.Settle(spent(usd))
		}
		must(t, err)
	}
	spend(0.25)
	name := filepath.Join(dir, time.Now().Format(time.DateOnly)+dayExt)
	file, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0)
	must(t, err)
	if _, err := file.WriteString(`{"type":"spent","id":"x","cost_u`); err != nil {
		t.Fatal(err)
	}
	must(t, file.Close())
	spend(0.5)
	if usd := sum(t, l); !near(usd, 0.75) {
		t.Errorf("$%v", usd)
	}
	if err := os.Truncate(name, 0); err != nil { // A user may empty the file.
		t.Fatal(err)
	}
	spend(0.125)
	if usd := sum(t, l); !near(usd, 0.125) {
		t.Errorf("$%v after the file was emptied", usd)
	}
}

func TestALedgerThatCannotBeWrittenIsAnError(t *testing.T) {
	t.Parallel()
	blocked := filepath.Join(t.TempDir(), "ledger")
	must(t, os.WriteFile(blocked, nil, 0o600))
	if _, err := Open(blocked, time.Now).Reserve(spent(0), 0, 1, 1); err == nil {
		t.Error("reserved in a file that is not a directory")
	}
}

// must fails the test where something that it only needs did not work.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
