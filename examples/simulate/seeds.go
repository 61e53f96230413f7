package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// maxSeeds is the largest number of seeds.
const maxSeeds = 1000

// parseSeeds parses a count, such as "10" for the seeds 1 to 10, or a list of seeds and ranges,
// such as "3,7" and "11-20".
func parseSeeds(text string) ([]uint64, error) {
	words := strings.Split(text, ",")
	if count, err := parseSeed(text); err == nil {
		words = []string{fmt.Sprintf("1-%d", count)}
	}
	var seeds []uint64
	for _, word := range words {
		first, last, isRange := strings.Cut(word, "-")
		if !isRange {
			last = first
		}
		low, err := parseSeed(first)
		high, err2 := parseSeed(last)
		switch {
		case err != nil || err2 != nil:
			return nil, fmt.Errorf("%q is not a seed: want a count such as 10, or whole numbers from 1 such as 3,7 or 11-20", word)
		case high < low:
			return nil, fmt.Errorf("%q ends before it begins: want the smaller number first", word)
		case high-low >= maxSeeds || len(seeds)+int(high-low)+1 > maxSeeds:
			return nil, fmt.Errorf("%q has too many seeds: want 1 to %d seeds", text, maxSeeds)
		}
		for n := range high - low + 1 {
			seeds = append(seeds, low+n)
		}
	}
	sorted := slices.Sorted(slices.Values(seeds))
	if len(slices.Compact(sorted)) < len(seeds) {
		return nil, fmt.Errorf("%q has a seed twice: want each seed once", text)
	}
	return seeds, nil
}

func parseSeed(text string) (uint64, error) {
	seed, err := strconv.ParseUint(strings.TrimSpace(text), 10, 64)
	if err == nil && seed == 0 {
		err = errors.New("0 is not a seed")
	}
	return seed, err
}
