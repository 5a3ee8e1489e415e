package overlay

import (
	"unsafe"

	"github.com/weirstream/weir/internal/hugepage"
)

// A store that has slabFrom bytes of blocks gets more of them by the slab, on large pages: as much as a quarter of what it has, within
// slabFrom and slabMost. Its reserve is address space rather than memory until it is used.
const (
	slabFrom = 2 * hugepage.Page
	slabMost = 32 * hugepage.Page
)

// addBlocks appends blocks of n elements: one, or a slab of them.
func addBlocks[T any](blocks [][]T, n int) [][]T {
	each := n * int(unsafe.Sizeof(*new(T)))
	has := len(blocks) * each
	if has < slabFrom {
		return append(blocks, make([]T, n))
	}
	slab := hugepage.Make[T](min(max(has/4, slabFrom), slabMost) / each * n)
	for len(slab) > 0 {
		blocks = append(blocks, slab[:n:n])
		slab = slab[n:]
	}
	return blocks
}
