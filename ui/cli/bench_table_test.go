//go:build unix

package cli

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// row is a figure with its aims and its counterpart.
type row struct {
	what      string
	value     float64
	unit      string
	beside    string  // the counterpart in words
	ratio     float64 // to what stands beside it; 0 for none
	most      float64 // the aim for value; 0 for none
	mostRatio float64 // the aim for ratio; 0 for none
}

// table collects the rows of a run.
type table struct {
	rows  []row
	scale []string // rows of the second table
}

func (t *table) add(r row) { t.rows = append(t.rows, r) }

// maxResident is the aim for resident memory, in MB.
const maxResident = 30

// resident adds the memory that a process holds while it waits.
func (t *table) resident(when string, bytes int64) {
	t.add(row{what: "resident memory, " + when, value: megabytes(bytes), unit: "MB", most: maxResident})
}

// peak adds the most that a headless run held at any time.
func (t *table) peak(of string, u used) { t.peakOf(of, u, maxResident) }

// peakOf is the same with another aim.
func (t *table) peakOf(of string, u used, most float64) {
	t.add(row{what: "peak of resident memory, headless, " + of, value: megabytes(u.RSS), unit: "MB",
		beside: fmt.Sprintf("CPU %.0f ms", millis(u.CPU)), most: most})
}

// met says whether the row keeps its aim; known is false when it has none.
func (r row) met() (met, known bool) {
	switch {
	case r.most > 0:
		return r.value <= r.most, true
	case r.mostRatio > 0:
		return r.ratio <= r.mostRatio, true
	}
	return false, false
}

func (r row) aim() string {
	met, known := r.met()
	text := ""
	switch {
	case !known:
		return ""
	case r.most > 0:
		text = strings.TrimSpace(fmt.Sprintf("≤ %.4g %s", r.most, r.unit))
	default:
		text = fmt.Sprintf("≤ %g×", r.mostRatio)
	}
	if !met {
		text += " **missed**"
	}
	return text
}

// markdown is the table, with its date and machine.
func (t *table) markdown(now time.Time) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %s.\n\n", now.Format(time.DateOnly), machine())
	b.WriteString("| what | artoo | beside it | ratio | aim |\n|---|---|---|---|---|\n")
	for _, r := range t.rows {
		ratio := ""
		if r.ratio > 0 {
			ratio = fmt.Sprintf("%.3g", r.ratio)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", r.what,
			strings.TrimSpace(fmt.Sprintf("%.4g %s", r.value, r.unit)), r.beside, ratio, r.aim())
	}
	b.WriteString(
		"\n| answer, headless, all at once | CPU | CPU per MB | resident memory | memory per MB |\n|---|---|---|---|---|\n")
	b.WriteString(strings.Join(t.scale, "\n") + "\n")
	return b.String()
}

// The lines between which the figures stand on their page.
const (
	figuresBegin = "<!-- figures: written by `make bench` -->\n"
	figuresEnd   = "<!-- end of figures -->\n"
)

// report prints the table, and writes the page if that is asked for.
func (t *table) report(b *testing.B) {
	text := t.markdown(time.Now())
	fmt.Printf("\n%s\n", text)
	for _, r := range t.rows {
		if met, known := r.met(); known && !met {
			b.Logf("aim missed: %s", r.what)
		}
	}
	if os.Getenv("ARTOO_BENCH_UPDATE") == "" {
		return
	}
	path := filepath.Join(moduleDir, "docs", "dev", "performance.md")
	page, err := os.ReadFile(path)
	if err != nil {
		b.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(page), figuresBegin)
	_, after, ok2 := strings.Cut(rest, figuresEnd)
	if !ok || !ok2 {
		b.Fatalf("%s lacks the lines %q and %q", path, figuresBegin, figuresEnd)
	}
	if err := os.WriteFile(path, []byte(before+figuresBegin+"\n"+text+"\n"+figuresEnd+after),
		0o644); err != nil {
		b.Fatal(err)
	}
}

// machine says where the figures are from.
func machine() string {
	cpu := runtime.GOARCH
	if f, err := os.Open("/proc/cpuinfo"); err == nil {
		defer f.Close()
		for lines := bufio.NewScanner(f); lines.Scan(); {
			if key, value, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(key) == "model name" {
				cpu = strings.TrimSpace(value)
				break
			}
		}
	} else if out, err := exec.Command("sysctl", "-n", "machdep.cpu.brand_string").Output(); err == nil {
		cpu = strings.TrimSpace(string(out))
	}
	kernel := runtime.GOOS
	if out, err := exec.Command("uname", "-sr").Output(); err == nil {
		kernel = strings.TrimSpace(string(out))
	}
	return fmt.Sprintf("%s, %d cores, %s, %s %s", cpu, runtime.NumCPU(), kernel, runtime.Version(), runtime.GOARCH)
}

// times sums up several runs.
type times struct {
	least, median time.Duration
	inTurn        []time.Duration // one after another
}

// repeat does the runs n times in turn, so that a busy moment of the machine
// hits them all.
func repeat(n int, runs ...func() time.Duration) []times {
	took := make([][]time.Duration, len(runs))
	for range n {
		for i, run := range runs {
			took[i] = append(took[i], run())
		}
	}
	var sums []times
	for _, all := range took {
		inTurn := slices.Clone(all)
		slices.Sort(all)
		sums = append(sums, times{least: all[0], median: all[n/2], inTurn: inTurn})
	}
	return sums
}

// pairRatio is the median of the ratios of two runs in the same turn: two runs beside
// each other meet the same machine.
func pairRatio(these, those times) float64 {
	var ratios []float64
	for i := range these.inTurn {
		ratios = append(ratios, float64(these.inTurn[i])/float64(those.inTurn[i]))
	}
	slices.Sort(ratios)
	return ratios[len(ratios)/2]
}

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func megabytes(n int64) float64 { return float64(n) / (1 << 20) }
