package engine

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/weirstream/weir/internal/overlay/keys"
	"github.com/weirstream/weir/state"
)

// lastingStores are the names of the plan's stores whose state outlives a disk.
func (p *Plan) lastingStores() map[string]bool {
	names := map[string]bool{}
	for _, sub := range p.Subs {
		for _, st := range sub.Stores {
			if st.outlives() {
				names[st.Name] = true
			}
		}
	}
	return names
}

// allStores are the names of the plan's stores.
func (p *Plan) allStores() map[string]bool {
	names := map[string]bool{}
	for _, sub := range p.Subs {
		for _, st := range sub.Stores {
			names[st.Name] = true
		}
	}
	return names
}

// compareStores compares the stores that the app's state was written with, by name, with those of the topology. More of them is no problem; one
// that is missing was renamed or taken out, and a store under a new name would begin empty without a word. That is refused unless the
// user has given the state up.
func compareStores[R any](s *session, recorded map[string]R, has map[string]bool) error {
	var gone, added []string
	for _, name := range slices.Sorted(maps.Keys(recorded)) {
		if !has[name] && !slices.Contains(s.config.DropState, name) {
			gone = append(gone, name)
		}
	}
	if len(gone) == 0 {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(has)) {
		if _, known := recorded[name]; !known {
			added = append(added, name)
		}
	}
	instead := "nothing new"
	if len(added) > 0 {
		instead = "new " + strings.Join(added, ", ")
	}
	return fmt.Errorf("%w: the state of app %s has stores that the topology has not: %s, where the topology has %s; "+
		"keep a store's name with Named, or give its state up by naming it in DropState", ErrTopology, s.plan.App, strings.Join(gone, ", "), instead)
}

// dropped are the stores whose state the user has given up.
func (s *session) dropped() (names []string) {
	has := s.plan.lastingStores()
	for _, name := range s.config.DropState {
		if !has[name] {
			names = append(names, name)
		}
	}
	return names
}

// dropRows deletes what the database has of given up stores.
func (s *session) dropRows(refs []taskRef) error {
	names := s.dropped()
	if len(names) == 0 || len(refs) == 0 {
		return nil
	}
	var b state.Batch
	for _, t := range refs {
		for _, name := range names {
			rows := keys.Store(t.name(), name)
			b.DeleteRange(rows, keys.End(rows))
		}
	}
	return s.base.db.Apply(&b, false)
}

// A storeOf is a store of a task, by their names.
type storeOf struct{ task, store string }

// storesIn lists the stores that a database has something of, by what their keys say: it looks at one key of each.
func storesIn(db state.DB) (found []storeOf, err error) {
	from, last := []byte(nil), []byte{0xff}
	for more := true; more; {
		more = false
		var bad error
		err := db.Scan(from, last, func(key, _ []byte) bool {
			more = true
			var at storeOf
			if at.task, at.store, bad = keys.CutStore(key); bad != nil {
				return false
			}
			if at.store == "" {
				from = append(append([]byte(nil), key...), 0)
				return false
			}
			found = append(found, at)
			from = keys.End(keys.Store(at.task, at.store))
			return false
		})
		if err := errors.Join(err, bad); err != nil {
			return nil, fmt.Errorf("look for stores in the database: %w", err)
		}
	}
	return found, nil
}

// compareOwn compares the stores of the database with those of the topology where no tasks topic names them, and drops what was given up.
func (s *session) compareOwn(db state.DB) error {
	found, err := storesIn(db)
	if err != nil {
		return err
	}
	has, recorded := s.plan.allStores(), map[string]bool{}
	for _, at := range found {
		recorded[at.store] = true
	}
	if err := compareStores(s, recorded, has); err != nil {
		return err
	}
	var b state.Batch
	for _, at := range found {
		if !has[at.store] {
			rows := keys.Store(at.task, at.store)
			b.DeleteRange(rows, keys.End(rows))
		}
	}
	if b.Empty() {
		return nil
	}
	return db.Apply(&b, true)
}
