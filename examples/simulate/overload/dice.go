package overload

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
)

// dice returns a generator for one purpose in one case. The policy has no part in its seed, so that all policies meet the same
// calls; and the hash keeps neighbouring seeds from having anything in common.
func dice(seed uint64, scenario, course, purpose string) *rand.Rand {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d\x00%s\x00%s\x00%s", seed, scenario, course, purpose))
	return rand.New(rand.NewPCG(binary.LittleEndian.Uint64(sum[:8]), binary.LittleEndian.Uint64(sum[8:16])))
}
