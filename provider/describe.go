package provider

import "context"

// Describer is a Provider whose server knows facts of its models that no
// catalogue has, such as the window a local server gives them.
type Describer interface {
	// Describe returns what is known of a model, with everything from the
	// catalogue that the server does not say. It asks the server at most once
	// for each model. Its errors are *Error; they come before anything is sent
	// to the model itself, and the next call tries again. It may be called by
	// several goroutines.
	Describe(ctx context.Context, model string) (ModelInfo, error)
}
