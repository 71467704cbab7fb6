package tool

import "context"

type hurryKey struct{}

// WithHurry returns a context whose interrupted commands are killed as soon as
// hurry is closed, without the time to end that they have otherwise. It says
// nothing to a command that was not interrupted.
func WithHurry(ctx context.Context, hurry <-chan struct{}) context.Context {
	return context.WithValue(ctx, hurryKey{}, hurry)
}

// Hurried is the channel of WithHurry; nil, which never fires, where there is
// none.
func Hurried(ctx context.Context) <-chan struct{} {
	hurry, _ := ctx.Value(hurryKey{}).(<-chan struct{})
	return hurry
}
