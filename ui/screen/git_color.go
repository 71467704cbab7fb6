package screen

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

// GitColor makes SGR parameters of a colour as git's configuration has it, such as
// "bold red", "208", "#f80" or "reverse". ok is false for what git would not take.
func GitColor(value string) (sgr string, ok bool) {
	var codes []string
	colors := 0
	for _, word := range strings.Fields(strings.ToLower(value)) {
		code, attribute := gitAttribute(word)
		if !attribute {
			if code, ok = gitColorCode(word, colors == 1); !ok || colors == 2 {
				return "", false
			}
			colors++
		}
		if code != "" {
			codes = append(codes, code)
		}
	}
	return strings.Join(codes, ";"), true
}

// gitAttribute is the parameter of an attribute. One that is switched off, as by nobold,
// is off already.
func gitAttribute(word string) (code string, ok bool) {
	if word == "reset" {
		return "", true
	}
	name, off := strings.CutPrefix(word, "no")
	for code, attribute := range map[string]string{"1": "bold", "2": "dim", "3": "italic", "4": "ul", "5": "blink", "7": "reverse", "9": "strike"} {
		switch {
		case word == attribute:
			return code, true
		case off && strings.TrimPrefix(name, "-") == attribute:
			return "", true
		}
	}
	return "", false
}

// gitColorCode is the parameters of a colour of the text, or of what is behind it; "" for
// the terminal's own.
func gitColorCode(word string, behind bool) (code string, ok bool) {
	base, wide := 30, "38"
	if behind {
		base, wide = 40, "48"
	}
	name, bright := strings.CutPrefix(word, "bright")
	for i, color := range []string{"black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"} {
		switch {
		case name == color && bright:
			return strconv.Itoa(base + 60 + i), true
		case name == color:
			return strconv.Itoa(base + i), true
		}
	}
	switch digits, rgb := strings.CutPrefix(word, "#"); {
	case word == "normal", word == "default", word == "-1":
		return "", true
	case rgb && len(digits) == 3:
		digits = string([]byte{digits[0], digits[0], digits[1], digits[1], digits[2], digits[2]})
		fallthrough
	case rgb:
		if b, err := hex.DecodeString(digits); err == nil && len(b) == 3 {
			return fmt.Sprintf("%s;2;%d;%d;%d", wide, b[0], b[1], b[2]), true
		}
		return "", false
	}
	switch n, err := strconv.Atoi(word); {
	case err != nil || n < 0 || n > 255:
		return "", false
	case n < 8:
		return strconv.Itoa(base + n), true
	case n < 16:
		return strconv.Itoa(base + 60 + n - 8), true
	default:
		return fmt.Sprintf("%s;5;%d", wide, n), true
	}
}
