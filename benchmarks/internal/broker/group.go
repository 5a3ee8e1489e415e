package broker

import (
	"context"
	"fmt"
	"strings"
)

// Owners says which member of the group each partition of a topic is assigned to.
func (b *Broker) Owners(ctx context.Context, group, topic string) (map[int32]string, error) {
	described, err := b.admin.DescribeGroups(ctx, group)
	if err == nil {
		err = described[group].Err
	}
	if err != nil {
		return nil, fmt.Errorf("describing group %s: %w", group, err)
	}
	owners := make(map[int32]string)
	for _, m := range described[group].Members {
		assigned, ok := m.Assigned.AsConsumer()
		if !ok {
			return nil, fmt.Errorf("group %s: member %s has an assignment of an unknown form", group, m.MemberID)
		}
		for _, t := range assigned.Topics {
			if t.Topic != topic {
				continue
			}
			for _, p := range t.Partitions {
				owners[p] = m.MemberID
			}
		}
	}
	return owners, nil
}

// Changelog is how many records, the ends of transactions among them, the changelogs of an app hold.
func (b *Broker) Changelog(ctx context.Context, app string) (int64, error) {
	all, err := b.admin.ListTopics(ctx)
	if err != nil {
		return 0, err
	}
	var names []string
	for name := range all {
		if strings.HasPrefix(name, app) && strings.Contains(name, "changelog") {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return 0, fmt.Errorf("%s has no changelog", app)
	}
	first, err := b.admin.ListStartOffsets(ctx, names...)
	if err != nil {
		return 0, err
	}
	last, err := b.admin.ListEndOffsets(ctx, names...)
	if err != nil {
		return 0, err
	}
	total := int64(0)
	for topic, partitions := range last {
		for p, end := range partitions {
			total += end.Offset - first[topic][p].Offset
		}
	}
	return total, nil
}
