package screen

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"artoo/agent"
	"artoo/conversation"
	texts "artoo/tool/text"
)

// spokenCall is a call in a sentence. Of one that was named last only the result is said.
func (lay *layout) spokenCall(c agent.Call, result string, named bool) string {
	if result != "" && named {
		return lay.wrap("tool: "+spokenResult(result)+".", "", "")
	}
	text := "tool: " + callVerb(c)
	if object := lay.object(c); object != "" {
		text += " " + object
	}
	if result != "" {
		text += ", " + spokenResult(result)
	}
	return lay.wrap(strings.TrimSuffix(text, ".")+".", "", "")
}

var (
	size    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\+(\d+) -(\d+)$`) })
	seconds = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\b((?:in|after) \d+(?:\.\d+)?)s\b`) })
	took    = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`( (?:in|after) )((?:\d+h)?(?:\d+m)?\d+(?:\.\d+)?s)$`)
	})
)

// spokenResult says the size of a change and a duration in words.
func spokenResult(result string) string {
	if m := size().FindStringSubmatch(result); m != nil {
		added, _ := strconv.Atoi(m[1]) // it is a number
		return texts.Count(added, "line") + " added, " + m[2] + " removed"
	}
	if m := took().FindStringSubmatchIndex(result); m != nil {
		if d, err := time.ParseDuration(result[m[4]:m[5]]); err == nil {
			return result[:m[4]] + spokenSpan(d)
		}
	}
	return result
}

// spokenSpan is a duration in words, to the second, or to the tenth below 10 seconds.
func spokenSpan(d time.Duration) string {
	if tenths := d.Round(time.Second / 10); tenths < 10*time.Second && tenths%time.Second != 0 {
		return fmt.Sprintf("%.1f seconds", tenths.Seconds())
	}
	n := int(d.Round(time.Second) / time.Second)
	var parts []string
	for _, unit := range []struct {
		in, below int // seconds of one; how many make the next
		name      string
	}{{3600, 1 << 30, "hour"}, {60, 60, "minute"}, {1, 60, "second"}} {
		if k := n / unit.in % unit.below; k > 0 {
			parts = append(parts, texts.Count(k, unit.name))
		}
	}
	if parts == nil {
		return "0 seconds"
	}
	return strings.Join(parts, " ")
}

func (lay *layout) spanWords(d time.Duration) string {
	if lay.opt.Profile == Spoken {
		return spokenSpan(d.Round(time.Second))
	}
	if text := span(d); !lay.rich() || d >= time.Minute {
		return text
	}
	return strings.TrimSuffix(span(d), "s") + " s"
}

func spokenSize(n int) string {
	number, thousands := conversation.Scaled(n)
	if thousands == 0 {
		return texts.Count(n, "byte")
	}
	return number + [...]string{"", " kilobytes", " megabytes"}[thousands]
}

// spokenInput says each field of a call's valid input in a line; nested ones stay JSON.
func spokenInput(input []byte) string {
	d := json.NewDecoder(bytes.NewReader(input))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return string(input)
	}
	var b strings.Builder
	for d.More() {
		var value json.RawMessage
		name, err := d.Token()
		if err = errors.Join(err, d.Decode(&value)); err != nil {
			return string(input)
		}
		text := string(value)
		_ = json.Unmarshal(value, &text) // other values stay JSON
		fmt.Fprintf(&b, "%v: %s\n", name, text)
	}
	return strings.TrimRight(b.String(), "\n")
}

// spokenKey names capitals and marks, since a voice makes no difference between a and A.
func spokenKey(key string) string {
	switch key {
	case "":
		return "or"
	case "A":
		return "capital A"
	case "?":
		return "question mark"
	}
	return key
}
