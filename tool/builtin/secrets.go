package builtin

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"artoo/tool"
	"artoo/tool/edit"
)

// secretMark stands for a secret in text that the model is shown.
var secretMark = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`‹secret:[0-9a-f]{4,64}›`)
})

// unmask puts the values of marks into the edits, and returns these. The error is for the model.
func unmask(env *tool.Env, body string, edits []edit.Replacement) (out []edit.Replacement, values []string, err error) {
	used := map[string]bool{}
	for _, edit := range edits {
		for _, text := range []*string{edit.OldString, edit.NewString} {
			if text != nil {
				for _, mark := range secretMark().FindAllString(*text, -1) {
					used[mark] = true
				}
			}
		}
	}
	if len(used) == 0 {
		return edits, nil, nil
	}
	known, err := marksOf(env, body, used)
	if err != nil {
		return nil, nil, err
	}
	for _, edit := range edits {
		if err := sameMarks(edit); err != nil {
			return nil, nil, err
		}
		edit.OldString, edit.NewString = inPlaceOf(edit.OldString, known), inPlaceOf(edit.NewString, known)
		out = append(out, edit)
	}
	for _, value := range known {
		values = append(values, value)
	}
	return out, values, nil
}

// marksOf finds the secret in the file that each mark stands for.
func marksOf(env *tool.Env, body string, used map[string]bool) (map[string]string, error) {
	known := map[string]string{}
	if env.Secrets != nil {
		for _, s := range env.Secrets(body) {
			value := body[s.From:s.To]
			if before, ok := known[s.Mark]; ok && before != value && used[s.Mark] {
				return nil, fmt.Errorf("%s fits two values in this file, and it is unclear which is meant; leave "+
					"those lines alone", s.Mark)
			}
			known[s.Mark] = value
		}
	}
	for mark := range used {
		if strings.Contains(body, mark) {
			return nil,
				fmt.Errorf("%s occurs literally in this file, so it could mean that text or a key", mark)
		}
		if _, ok := known[mark]; !ok {
			return nil, fmt.Errorf("%s stands for a hidden key, but not one in this file. Leave "+
				"that part of the text alone, or ask the user", mark)
		}
	}
	for mark := range known {
		if !used[mark] {
			delete(known, mark)
		}
	}
	return known, nil
}

// sameMarks refuses an edit that copies a key or takes one away.
func sameMarks(edit edit.Replacement) error {
	if edit.OldString == nil || edit.NewString == nil {
		return nil // it is refused for that
	}
	before, after := secretMark().FindAllString(*edit.OldString, -1), secretMark().FindAllString(*edit.NewString, -1)
	slices.Sort(before)
	slices.Sort(after)
	if !slices.Equal(before, after) {
		return errors.New("each mark ‹secret:…› must occur as often in new_string as in old_string: keep it, or " +
			"leave its line out of the edit")
	}
	return nil
}

func inPlaceOf(text *string, known map[string]string) *string {
	if text == nil {
		return nil
	}
	out := secretMark().ReplaceAllStringFunc(*text, func(mark string) string { return known[mark] })
	return &out
}

// movesSecret says that a value does not stand between the same lines as before; "" if all do.
func movesSecret(before, after string, values []string) string {
	for _, value := range values {
		if !slices.Equal(surroundings(before, value), surroundings(after, value)) {
			return "it changes the line of a masked key, or a line next to it"
		}
	}
	return ""
}

// surroundings are the lines of each occurrence of value, with one before and one behind.
func surroundings(text, value string) (all []string) {
	for _, at := range edit.Occurrences(text, value, false) {
		from := strings.LastIndexByte(text[:at], '\n')
		from = strings.LastIndexByte(text[:max(from, 0)], '\n') + 1
		to := len(text)
		if next := strings.IndexByte(text[at+len(value):], '\n'); next >= 0 {
			to = at + len(value) + next + 1
			if next := strings.IndexByte(text[to:], '\n'); next >= 0 {
				to += next + 1
			} else {
				to = len(text)
			}
		}
		all = append(all, text[from:to])
	}
	return all
}

// insideSecrets finds the lines of secrets of several lines that begin before the line with the
// number before. It maps their numbers, from 1, to the mark that replaces each. The first and last
// lines of PEM blocks are left out.
func insideSecrets(e *tool.Env, body string, before int) map[int]string {
	marks := map[int]string{}
	if e.Secrets == nil {
		return marks
	}
	for _, s := range e.Secrets(body) {
		secret := body[s.From:s.To]
		number := 1 + strings.Count(body[:s.From], "\n")
		if number >= before || !strings.Contains(secret, "\n") {
			continue
		}
		for line := range strings.Lines(secret) {
			if !strings.Contains(line, "-----BEGIN ") && !strings.Contains(line, "-----END ") {
				marks[number] = s.Mark
			}
			number++
		}
	}
	return marks
}
