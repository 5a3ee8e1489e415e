package memory

import (
	"maps"
	"slices"

	"github.com/weirstream/weir/internal/wire"
)

// deleteBefore drops what is before an offset. Batches that others read stay as they are: they are only no longer in the log.
func (p *partition) deleteBefore(offset int64) {
	if offset <= p.start {
		return
	}
	p.start = offset
	p.batches = slices.Delete(p.batches, 0, p.find(offset))
	if len(p.batches) > 0 && p.batches[0].base < offset {
		b := *p.batches[0]
		b.records = b.visible(offset, false)
		b.base = offset
		p.batches[0] = &b
	}
	p.wake()
}

// Retain applies retention.ms and retention.bytes to every topic with the delete policy, as Kafka does now and then: what counts is
// the records' own time, so the events of years ago go unread. Nothing of an open transaction is deleted.
func (c *Cluster) Retain() {
	b := c.enter()
	defer c.leave()
	b.retain()
}

func (b *broker) retain() {
	for _, name := range slices.Sorted(maps.Keys(b.topics)) {
		if t := b.topics[name]; t.delete {
			for _, p := range t.parts {
				p.retain(b.now.UnixMilli(), t.setting("retention.ms"), t.setting("retention.bytes"))
			}
		}
	}
	b.wake()
}

func (p *partition) retain(now, age, size int64) {
	total := int64(0)
	for _, b := range p.batches {
		total += int64(b.bytes)
	}
	before := p.start
	for _, b := range p.batches {
		old := age >= 0 && now-b.maxTime > age
		big := size >= 0 && total-int64(b.bytes) >= size
		if !old && !big || b.next > p.stable() {
			break
		}
		total -= int64(b.bytes)
		before = b.next
	}
	p.deleteBefore(before)
}

// Compact compacts every topic with the compact policy, up to the last stable offset: of each key the last record stays, records of
// aborted transactions go, and so do tombstones when delete.retention.ms has passed since a compaction first saw them. Offsets stay.
func (c *Cluster) Compact() {
	b := c.enter()
	defer c.leave()
	b.compact()
}

func (b *broker) compact() {
	for _, name := range slices.Sorted(maps.Keys(b.topics)) {
		if t := b.topics[name]; t.compact {
			for _, p := range t.parts {
				p.compact(b.now.UnixMilli(), t.setting("delete.retention.ms"), t.setting("min.compaction.lag.ms"))
			}
		}
	}
	b.wake()
}

func (p *partition) compact(now, keepTombstones, lag int64) {
	n := 0 // batches that may be cleaned
	for n < len(p.batches) && p.batches[n].next <= p.stable() && (lag <= 0 || now-p.batches[n].maxTime >= lag) {
		n++
	}
	last := map[string]int64{}
	for _, b := range p.batches[:n] {
		for _, r := range b.visible(b.base, true) {
			last[string(r.Key)] = r.Offset
		}
	}
	for i, b := range p.batches[:n] {
		if b.marker {
			continue
		}
		clean := *b
		clean.records = nil
		clean.bytes = 0
		if clean.horizon == 0 {
			clean.horizon = now + keepTombstones
		}
		for _, r := range b.visible(b.base, true) {
			gone := r.Value == nil && b.horizon != 0 && now >= b.horizon
			if last[string(r.Key)] == r.Offset && !gone {
				clean.records = append(clean.records, r)
				clean.bytes += recordSize(&r)
			}
		}
		p.batches[i] = &clean
	}
}

// Delete drops a topic. Made again it has another id.
func (c *Cluster) Delete(name string) {
	b := c.enter()
	defer c.leave()
	if t := b.topics[name]; t != nil {
		t.deleted = true
		delete(b.topics, name)
		for _, p := range t.parts {
			p.wake()
		}
		b.wake()
	}
}

// Configure changes settings of a topic.
func (c *Cluster) Configure(name string, changes map[string]string) error {
	b := c.enter()
	defer c.leave()
	t, err := b.lookup(name)
	if err != nil {
		return err
	}
	return t.configure(changes)
}

// Grow adds partitions to a topic until it has n.
func (c *Cluster) Grow(name string, n int) error {
	b := c.enter()
	defer c.leave()
	t, err := b.lookup(name)
	if err != nil {
		return err
	}
	t.grow(n)
	b.wake()
	return nil
}

// Create makes a topic; one that exists is left as it is.
func (c *Cluster) Create(name string, partitions int, configs map[string]string) error {
	b := c.enter()
	defer c.leave()
	return b.create(wire.TopicSpec{Name: name, Partitions: int32(partitions), Configs: configs})
}
