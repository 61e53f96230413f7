package adaptive

// almostOne is the largest number below 1, and the largest probability: something always gets through.
const almostOne = 1 - 1.0/(1<<53)

// throttleProbability is the formula, at least 0 and less than 1.
func throttleProbability(requests, accepts, ratio, padding float64) float64 {
	return min(max(0, (requests-ratio*accepts)/(requests+padding)), almostOne)
}
