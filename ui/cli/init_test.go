package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"testing"
)

// The budgets of the binary. The clocks of initialisation are taken as the least
// of so many runs, because all that another process can do is to raise them.
const (
	initRuns  = 10         // of which the quickest counts
	initTries = 3          // on a busy machine
	initRatio = 8          // times net/http's own
	maxBinary = 32_000_000 // bytes
)

// TestBinary holds the built program to its budgets.
func TestBinary(t *testing.T) {
	artoo := buildProgram(t, moduleDir)
	t.Run("size", func(t *testing.T) {
		info, err := os.Stat(artoo)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%.2f MB", float64(info.Size())/1e6)
		if info.Size() > maxBinary {
			t.Errorf("the binary has %d bytes, which is over %d", info.Size(), maxBinary)
		}
	})
	t.Run("init", func(t *testing.T) { checkInit(t, artoo) })
}

// checkInit holds what packages do before main to a multiple of what net/http's
// do. Glamour's own are left out: they cost what they cost.
func checkInit(t *testing.T, artoo string) {
	own, err := withoutGlamour()
	if err != nil {
		t.Fatal(err)
	}
	i := initCost(t, artoo, own)
	for range initTries - 1 {
		if i.ratio() <= initRatio {
			break
		}
		i = initCost(t, artoo, own)
	}
	t.Logf("%.3f ms are %.1f times net/http's %.3f ms; glamour's packages take %.1f ms", i.own, i.ratio(),
		i.nethttp, i.glamour)
	if i.ratio() > initRatio {
		t.Errorf(
			"packages other than glamour's take %.3f ms before main, over %d times net/http's %.3f ms; a regexp or a table made at package level? The dearest:\n%s",
			i.own, initRatio, i.nethttp, i.dearest)
	}
}

// initCosts are milliseconds of package initialisation over those of an empty
// program.
type initCosts struct {
	own     float64 // all of artoo's but glamour's
	glamour float64
	nethttp float64 // a program that links nothing else
	dearest string  // of own, a line each
}

func (i initCosts) ratio() float64 { return i.own / i.nethttp }

func initCost(t testing.TB, artoo string, own map[string]bool) initCosts {
	empty := sum(initClocks(t, buildProgram(t, filepath.Join(moduleDir, "testdata", "bench", "empty"))))
	all := initClocks(t, artoo, "version")
	i := initCosts{nethttp: sum(initClocks(t,
		buildProgram(t, filepath.Join(moduleDir, "testdata", "bench", "nethttp")))) - empty, own: -empty}
	var names []string
	for name, ms := range all {
		if !own[name] {
			i.glamour += ms
			continue
		}
		i.own += ms
		names = append(names, name)
	}
	if len(names) < 20 || i.nethttp <= 0 || i.glamour <= 0 {
		t.Fatalf("the traces make no sense: %d packages, net/http %.3f ms, glamour %.3f ms", len(names),
			i.nethttp, i.glamour)
	}
	sort.Slice(names, func(a, b int) bool { return all[names[a]] > all[names[b]] })
	for _, name := range names[:12] {
		i.dearest += fmt.Sprintf("%8.3f ms %s\n", all[name], name)
	}
	return i
}

func sum(clocks map[string]float64) (total float64) {
	for _, ms := range clocks {
		total += ms
	}
	return total
}

// initClocks is the least time each package of a program took to initialise.
func initClocks(t testing.TB, program string, args ...string) map[string]float64 {
	t.Helper()
	least := map[string]float64{}
	env := home(t, "GODEBUG=inittrace=1", "GOGC=100") // collections are part of what they take
	for range initRuns {
		cmd := exec.Command(program, args...)
		var trace bytes.Buffer
		cmd.Env, cmd.Stderr = env, &trace
		if err := cmd.Run(); err != nil {
			t.Fatalf("%v: %s", err, trace.Bytes())
		}
		for lines := bufio.NewScanner(&trace); lines.Scan(); {
			var name string
			var at, clock float64
			if n, _ := fmt.Sscanf(lines.Text(), "init %s @%f ms, %f ms clock", &name, &at, &clock); n < 3 {
				continue
			}
			if ms, ok := least[name]; !ok || clock < ms {
				least[name] = clock
			}
		}
	}
	return least
}

// withoutGlamour are the packages that artoo would link if nothing imported
// glamour: those that can be reached from main without passing it, or the
// highlighter that it brings.
func withoutGlamour() (map[string]bool, error) {
	cmd := exec.Command("go", "list", "-deps", "-json=ImportPath,Imports,ImportMap", moduleDir)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=")
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	imports := map[string][]string{}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			ImportPath string
			Imports    []string
			ImportMap  map[string]string
		}
		if err := d.Decode(&p); err == io.EOF {
			break
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		for _, name := range p.Imports {
			if mapped, ok := p.ImportMap[name]; ok {
				name = mapped
			}
			imports[p.ImportPath] = append(imports[p.ImportPath], name)
		}
	}
	module, err := moduleName(moduleDir)
	if err != nil {
		return nil, err
	}
	own, todo := map[string]bool{}, []string{module, "runtime"}
	for len(todo) > 0 {
		name := todo[0]
		todo = todo[1:]
		if own[name] || strings.HasPrefix(name, "github.com/charmbracelet/glamour") ||
			strings.HasPrefix(name, "github.com/alecthomas/chroma") {
			continue
		}
		own[name] = true
		todo = append(todo, imports[name]...)
	}
	return own, nil
}
