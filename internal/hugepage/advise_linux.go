package hugepage

import "syscall"

// advise asks for large pages. Where there are none to be had the memory is as it was.
func advise(b []byte) { _ = syscall.Madvise(b, syscall.MADV_HUGEPAGE) }
