package mcp

import (
	"context"
	"errors"
)

func (s *server) openHTTP(ctx context.Context) (*link, error) { return nil, errors.New("not yet") }

type Tokens interface{}
