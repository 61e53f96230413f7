package protocol

import "strconv"

// MaxAttempt is the highest number of an attempt that a server reads. More is not valid.
const MaxAttempt = 99

// ParseAttempt returns the number in text, from 1 to [MaxAttempt]. It returns 0 for any other text, such
// as "01" or "+1".
func ParseAttempt(text string) int {
	n, err := strconv.ParseUint(text, 10, 8)
	if err != nil || n < 1 || n > MaxAttempt || text[0] == '0' {
		return 0
	}
	return int(n)
}
