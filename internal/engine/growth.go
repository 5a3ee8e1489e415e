package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/weirstream/weir/internal/wire"
)

// watchSources posts an event when a source's topic has other partitions than at the start of the session, or is another topic. Nothing else
// would say so: a group's members are told of the partitions that their leader knows, and who reads a topic that was made anew sees offsets.
func (s *session) watchSources(ctx context.Context) {
	names := slices.Sorted(maps.Keys(s.sourceTopics))
	ticker := time.NewTicker(max(time.Second, min(s.config.SessionTimeout/2, 30*time.Second)))
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		found, err := s.base.log.Topics(ctx, names...)
		if err != nil {
			if ctx.Err() == nil {
				s.app.log.Debug("cannot look at the sources' topics now", "error", err)
			}
			continue
		}
		if err := changed(names, s.sourceTopics, found); err != nil {
			s.post(event{changed: err})
			return
		}
	}
}

// changed compares topics with what they were. One that is missing is no news from here: the broker says so to who reads it.
func changed(names []string, was, is map[string]wire.Topic) error {
	var all []error
	for _, name := range names {
		t, ok := is[name]
		switch before := was[name]; {
		case !ok:
		case t.ID != before.ID && t.ID != "" && before.ID != "":
			all = append(all, madeAnew("topic "+name, before.ID, t.ID, ""))
		case t.Partitions != before.Partitions:
			all = append(all, fmt.Errorf("topic %s has %d partitions now and had %d", name, t.Partitions, before.Partitions))
		}
	}
	return errors.Join(all...)
}

// leave ends the session at a checkpoint, for a new one that looks at topics anew: it takes new partitions in, or says why it cannot, because state is
// kept by partition; and its positions are in the topic that was, which it compares.
func (s *session) leave(why error) error {
	s.app.log.Warn("stopping at a checkpoint to begin with what the topics are now", "error", why)
	if err := s.finish(); err != nil {
		return err
	}
	return &errRecover{why}
}
