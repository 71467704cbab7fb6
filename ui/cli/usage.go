package cli

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"artoo/agent/ledger"
	"artoo/conversation"
	"artoo/provider"
	"artoo/tool/text"
	"artoo/ui/sanitize"
	"artoo/ui/screen"
)

// usedRow is the usage of a day's requests to a model from a directory.
type usedRow struct {
	Day      string         `json:"day"` // local, 2006-01-02
	Provider string         `json:"provider"`
	Model    string         `json:"model"`
	Dir      string         `json:"dir"` // "" of runs that kept no session
	Requests int            `json:"requests"`
	Usage    provider.Usage `json:"usage"`
	CostUSD  *float64       `json:"cost_usd"` // the sum of the known prices, or nil
	Unpriced int            `json:"unpriced"` // requests whose price is not
	// Quota is the last known state of the server's rate limits, nil where it reported none.
	Quota *provider.Quota `json:"quota,omitempty"`
}

// usageCommand is `artoo usage`.
type usageCommand struct {
	app  *app
	json *bool
	days *string
}

func newUsage(l commandLine) *cobra.Command {
	c := l.command("usage [--days N] [--json]", "the cost of all runs, by day, model and directory", common())
	u := usageCommand{l.app, jsonFlag(c), l.textFlag(c, "days", "", "N", "number of days, ending today (default: 7)")}
	c.RunE = func(*cobra.Command, []string) error { return u.run() }
	return c
}

func (c usageCommand) run() error {
	days, err := strconv.Atoi(cmp.Or(*c.days, "7"))
	if err != nil || days < 1 || days > 36600 {
		return usage("usage --days", strconv.Quote(*c.days)+" is not a number of days", "artoo usage --days 30")
	}
	if err := c.app.load(false, false); err != nil {
		return err
	}
	dir, err := c.app.cfg.Paths.Ledger()
	if err != nil {
		return err
	}
	var rows []usedRow
	today := time.Now()
	for back := days - 1; back >= 0; back-- {
		date := time.Date(today.Year(), today.Month(), today.Day()-back, 12, 0, 0, 0, time.Local).Format(time.DateOnly)
		spent, err := ledger.Read(dir, date)
		if err != nil {
			return err
		}
		rows = append(rows, usedOn(date, spent)...)
	}
	if *c.json {
		return printEach(c.app.process.Out, rows, true, nil)
	}
	return c.table(rows)
}

// usedOn sums up a day, the most expensive rows first.
func usedOn(date string, spent []ledger.Spent) (rows []usedRow) {
	for _, s := range spent {
		at := slices.IndexFunc(rows, func(r usedRow) bool {
			return r.Provider == s.Provider && r.Model == s.Model && r.Dir == s.Dir
		})
		if at < 0 {
			at, rows = len(rows), append(rows, usedRow{Day: date, Provider: s.Provider, Model: s.Model, Dir: s.Dir})
		}
		r := &rows[at]
		s.Usage.CostUSD = nil // the row's own is the whole
		r.Requests, r.Usage, r.Quota = r.Requests+1, r.Usage.Add(s.Usage), cmp.Or(s.Quota, r.Quota)
		if s.CostUSD == nil {
			r.Unpriced++
		} else {
			r.CostUSD = new(r.known() + *s.CostUSD)
		}
	}
	slices.SortStableFunc(rows, func(x, y usedRow) int { return cmp.Compare(y.known(), x.known()) })
	return rows
}

// known is the cost as far as prices are known.
func (r *usedRow) known() float64 {
	if r.CostUSD == nil {
		return 0
	}
	return *r.CostUSD
}

// cost is the cost as it is shown.
func (r *usedRow) cost() string {
	switch {
	case r.Unpriced == 0:
		return text.Dollars(r.known())
	case r.CostUSD == nil:
		return "price unknown"
	}
	return text.Dollars(*r.CostUSD) + " and " + screen.Count(r.Unpriced, "request") + " of unknown price"
}

// table prints a row a line and their sum.
func (c usageCommand) table(rows []usedRow) error {
	if len(rows) == 0 {
		c.app.screen.Note("nothing spent in this time")
		return nil
	}
	table := tabwriter.NewWriter(c.app.process.Out, 0, 0, 2, ' ', 0)
	var sum usedRow
	program, quotas := false, map[string]*provider.Quota{}
	for _, r := range rows {
		sum.Requests, sum.Usage, sum.Unpriced = sum.Requests+r.Requests, sum.Usage.Add(r.Usage), sum.Unpriced+r.Unpriced
		if r.CostUSD != nil {
			sum.CostUSD = new(sum.known() + *r.CostUSD)
		}
		if last := quotas[r.Provider]; r.Quota != nil && (last == nil || last.Seen.Before(r.Quota.Seen)) {
			quotas[r.Provider] = r.Quota
		}
		program = program || isProgram(r.Provider) && r.CostUSD != nil
		printUsed(table, r.Day, r, r.Provider+"/"+r.Model, cmp.Or(r.Dir, "(sessions that were not kept)"))
	}
	printUsed(table, "total", sum, "", "")
	if program {
		c.app.screen.Note("a coding CLI reports its own cost; a subscription may be billed differently")
	}
	if err := table.Flush(); err != nil {
		return err
	}
	shown := c.app.screen
	for _, name := range slices.Sorted(maps.Keys(quotas)) {
		shown.Note("last known quota: " + sanitize.Text(quotas[name].String(), sanitize.Line))
	}
	return nil
}

func printUsed(w *tabwriter.Writer, day string, r usedRow, model, dir string) {
	about := ""
	if r.Usage.Estimated {
		about = "about "
	}
	fmt.Fprintf(w, "%s\t%s\t%s%s tokens\t%s\t%s\t%s\n", day, screen.Count(r.Requests, "request"), about,
		conversation.Tokens(r.Usage.Total()), r.cost(), sanitize.Text(model, sanitize.Line), sanitize.Text(dir, sanitize.Line))
}
