package config

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"

	"artoo/tool/atomicfile"
)

// approvals are what rules spoke of, by project root and rule.
type approvals map[string]map[string]Approval

// Approved is what the rule spoke of when it was allowed for good in the project
// at root, nil for a rule that was not, or that names no script.
func (c *Config) Approved(root, rule string) (*Approval, error) {
	_, all, err := c.readApproved()
	if err != nil {
		return nil, err
	}
	if a, ok := all[root][rule]; ok {
		return &a, nil
	}
	return nil, nil
}

// Approve keeps what a rule that is allowed for good in the project at root
// speaks of. One that names no script has nothing to be kept.
func (c *Config) Approve(root, rule string, a Approval) error {
	path, all, err := c.readApproved()
	if err != nil {
		return err
	}
	if _, there := all[root][rule]; !there && len(a.Scripts) == 0 {
		return nil
	}
	if all[root] == nil {
		all[root] = map[string]Approval{}
	}
	all[root][rule] = a
	data, err := json.MarshalIndent(all, "", "\t")
	if err != nil {
		return err
	}
	if err := atomicfile.Write(path, append(data, '\n'), 0o600); err != nil {
		return because(kindConfig, path, err.Error(), err, "check the owner and mode of the directory")
	}
	return nil
}

func (c *Config) readApproved() (path string, all approvals, err error) {
	path, err = c.Paths.Approved()
	if err != nil {
		return "", nil, err
	}
	all = approvals{}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return path, all, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &all)
	}
	if err != nil {
		return "", nil, because(kindConfig, path, "what scripts were allowed cannot be read: "+err.Error(), err,
			"remove the file: the scripts are then asked about again")
	}
	return path, all, nil
}
