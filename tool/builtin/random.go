package builtin

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"strconv"

	"artoo/tool"
)

type randomInput struct {
	Min float64 `json:"min" jsonschema:"smallest possible number"`
	Max float64 `json:"max" jsonschema:"largest possible number"`
}

// maxRandom is the largest whole number that JSON carries exactly everywhere
// (2^53, RFC 8259 section 6).
const maxRandom = 1 << 53

// Random makes the tool that draws a whole number.
func Random() tool.Tool {
	return tool.New(tool.Def{
		Name:        "random_number",
		Kind:        tool.KindNone,
		Optional:    true,
		Description: "Draw a random whole number between min and max, both included.",
	}, planRandom, runRandom)
}

func (in randomInput) check() error {
	for _, f := range []float64{in.Min, in.Max} {
		if f != math.Trunc(f) {
			return fmt.Errorf("random_number: %v is not a whole number", f)
		}
		if math.Abs(f) > maxRandom {
			return fmt.Errorf("random_number: %v is too large: the bounds go from -%d to %d", f, maxRandom, maxRandom)
		}
	}
	if in.Min > in.Max {
		return errors.New("random_number: min is larger than max: swap them")
	}
	return nil
}

func planRandom(_ context.Context, _ *tool.Env, in randomInput) (tool.Access, error) {
	if err := in.check(); err != nil {
		return tool.Access{}, err
	}
	return tool.Access{Kind: tool.KindNone, Verb: "random", Object: fmt.Sprintf("%.0f to %.0f", in.Min, in.Max)}, nil
}

func runRandom(_ context.Context, _ *tool.Env, in randomInput, _ io.Writer) (tool.Result, error) {
	low, high := int64(in.Min), int64(in.Max)
	n, err := rand.Int(rand.Reader, big.NewInt(high-low+1))
	if err != nil {
		return tool.Result{}, fmt.Errorf("random_number: %w", err)
	}
	text := strconv.FormatInt(low+n.Int64(), 10)
	return tool.Result{Text: text, Summary: text}, nil
}
