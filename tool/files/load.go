package files

import (
	"errors"
	"fmt"
)

// LoadText reads the text file at the target. A file that does not exist is an
// empty textFile with State.Missing.
func (t Place) LoadText() (Text, []byte, State, error) {
	info, err := t.Replaceable()
	if err != nil {
		return Text{}, nil, State{}, err
	}
	if info == nil {
		return Text{}, nil, State{Missing: true}, nil
	}
	raw, info, err := t.ReadFile(MaxEdit)
	if errors.Is(err, ErrTooLarge) {
		return Text{}, nil, State{}, fmt.Errorf("%w; change it with a command", err)
	}
	if err != nil {
		return Text{}, nil, State{}, err
	}
	if kind := BinaryType(raw); kind != "" {
		return Text{}, nil, State{}, t.Errorf(nil, "is a binary file (%s); change it with a command", kind)
	}
	text, err := Decode(raw)
	if err != nil {
		return Text{}, nil, State{}, t.Errorf(err, "")
	}
	return text, raw, stateOf(info, raw), nil
}

// MaxEdit is the size in bytes of the largest file that is changed here; it is
// held in memory a few times over.
const MaxEdit = 10 << 20
