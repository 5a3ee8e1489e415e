package kafka

import (
	"context"
	"errors"

	"github.com/weirstream/weir/internal/wire"
)

var errTodo = errors.New("kafka: not built yet")

func (l *clusterLog) Join(ctx context.Context, c wire.GroupConfig) (wire.Membership, error) {
	return nil, errTodo
}
