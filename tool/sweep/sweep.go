// Package sweep chooses the cases of tests that try many: seeds, moments of a kill, lines. make test tries a sample
// that the date chooses, make crash all. Each test logs what it left out.
package sweep

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Variable holds "all", or the seed of the sample; without it the date is the seed.
const Variable = "SWEEP"

// Mark begins the line that a test logs: MARK N of M, seed S.
const Mark = "tried "

// Cases returns which of the cases 0 to all-1 a test tries, in order: a sample of so many, or all of them. With -short,
// as under the race detector, a sample is a quarter as large. The test's name holds "Any", by which make crash finds it.
func Cases(t testing.TB, sample, all int) []int {
	t.Helper()
	if testing.Short() {
		sample = (sample + 3) / 4
	}
	if Whole(t) || sample >= all {
		t.Logf("%s%d of %d", Mark, all, all)
		return upTo(all)
	}
	seed := os.Getenv(Variable)
	if seed == "" {
		seed = time.Now().UTC().Format("20060102")
	}
	number, err := strconv.ParseUint(seed, 10, 64)
	if err != nil {
		t.Fatalf("%s is %q; try: all, or a number", Variable, seed)
	}
	name := fnv.New64a()
	fmt.Fprint(name, t.Name())
	cases := rand.New(rand.NewPCG(number, name.Sum64())).Perm(all)[:sample]
	slices.Sort(cases)
	t.Logf("%s%d of %d, seed %s: %v", Mark, sample, all, seed, cases)
	return cases
}

// Of returns those of all cases that Cases chooses.
func Of[T any](t testing.TB, sample int, all []T) (some []T) {
	t.Helper()
	for _, i := range Cases(t, sample, len(all)) {
		some = append(some, all[i])
	}
	return some
}

func upTo(n int) []int {
	cases := make([]int, n)
	for i := range cases {
		cases[i] = i
	}
	return cases
}

// Whole reports whether tests try all of their cases.
func Whole(t testing.TB) bool {
	t.Helper()
	if !strings.Contains(t.Name(), "Any") {
		t.Fatalf("make crash does not find %s: a test that sweeps has Any in its name", t.Name())
	}
	return os.Getenv(Variable) == "all"
}

// Less is n, and a part of it with -short: for a test whose input is one, but long.
func Less(n int) int {
	if testing.Short() {
		return max(1, n/4)
	}
	return n
}
