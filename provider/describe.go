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

// LocalHost is a Provider whose server runs the user's own models and tells about
// them. Each method asks the server once, for as long as ctx allows; its errors are
// *Error, and it may be called by several goroutines.
type LocalHost interface {
	// Version is the server's, never empty without an error.
	Version(ctx context.Context) (string, error)
	// Windows are the tokens that a model takes at most and those it is set to take,
	// each 0 where the server does not say.
	Windows(ctx context.Context, model string) (most, set int, err error)
	// Loaded are the models in memory now.
	Loaded(ctx context.Context) ([]LoadedModel, error)
}

// LoadedModel is a model in memory.
type LoadedModel struct {
	Name     string `json:"name"`
	Size     int64  `json:"size"`           // bytes
	Graphics int64  `json:"size_vram"`      // the part on the graphics card
	Context  int    `json:"context_length"` // its window in tokens, 0 where it is not told
}
