package ledger

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Read lists what was spent on a day (2006-01-02), in the order in which it was
// settled; nil where there is no such file. What is under way is left out.
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
	d.bury(func(run string) bool { return lives(dir, run) })
	return d.settled, nil
}
