// Package hugepage makes memory that is read at random lie on large pages.
//
// A lookup in a table of a million rows waits for memory, and before that for the page table, whose entries for pages of 4 KiB no cache holds either.
// With pages of 2 MiB they fit. Most systems give those to whoever asks (transparent_hugepage=madvise); Go's heap does not, because of memory
// that comes and goes in small pieces. Tables of state are large and dense.
package hugepage

import "unsafe"

// Page is the size of a large page. Where it is another, as on some ARM systems, the advice is worth less and costs nothing.
const Page = 2 << 20

// small is what the advice is rounded to. Kernels whose pages are larger refuse it where it is in the middle of one.
const small = 4 << 10

// Make is make([]T, n), on large pages where it fills one. What lies between two of them, at both ends, is on a large page only where the neighbour in
// memory was made here, too: as slabs of one table mostly are.
func Make[T any](n int) []T {
	out := make([]T, n)
	size := n * int(unsafe.Sizeof(*new(T)))
	if size < Page {
		return out
	}
	begin := unsafe.Pointer(unsafe.SliceData(out))
	from := int(-uintptr(begin) % small)
	advise(unsafe.Slice((*byte)(unsafe.Add(begin, from)), (size-from)/small*small))
	return out
}
