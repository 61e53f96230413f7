package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"
)

// patienceAnswer is how long an answer may take: it may be that the child is frozen, and the machine busy.
const patienceAnswer = time.Minute

// scraper scrapes a child like a Prometheus does.
type scraper struct {
	url string

	mu      sync.Mutex
	last    exposition
	answers int
	ledger  ledger
	wrong   incidents
}

// run scrapes once a second until ctx ends.
func (s *scraper) run(ctx context.Context) {
	client := &http.Client{Transport: &http.Transport{}, Timeout: patienceAnswer}
	defer client.CloseIdleConnections()
	for {
		e, err := scrape(ctx, client, s.url)
		if ctx.Err() != nil {
			return
		}
		s.wrong.note("/metrics", err)
		if err == nil {
			s.keep(e)
		}
		if !rest(ctx, time.Second) {
			return
		}
	}
}

func (s *scraper) keep(e exposition) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = e
	s.answers++
	s.ledger.note(e.counters)
}

// read returns what was scraped last, and whether there is anything.
func (s *scraper) read() (e exposition, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last, s.answers > 0
}

func scrape(ctx context.Context, client *http.Client, url string) (exposition, error) {
	text, err := fetch(ctx, client, http.MethodGet, url+"/metrics", nil)
	if err != nil {
		return exposition{}, err
	}
	return parseExposition(text)
}

// fetch makes a request, and returns the whole answer if it is a good one.
func fetch(ctx context.Context, client *http.Client, method, url string, body io.Reader) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, method, url, body)
	if err != nil {
		return nil, err
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	response, err := client.Do(r)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %.200s", response.Status, text)
	}
	return text, err
}
