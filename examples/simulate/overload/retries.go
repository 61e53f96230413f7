package overload

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/retry"
)

// retries are the attempts of all clients that are to come.
type retries struct {
	rules  []retrier // of the clients; nil if they do not retry
	random *rand.Rand
	due    []dueRetry // by time
	ending offer      // whose attempt ends; here so that it is not allocated
}

// dueRetry is another attempt of a call.
type dueRetry struct {
	at    time.Duration
	offer offer
}

func newRetries(rule string, n int, e Env, random *rand.Rand) (retries, error) {
	r := retries{random: random}
	e.Rand = random.Float64
	made, err := ruleOf(rule)
	if err != nil || made.new == nil {
		return r, err
	}
	r.rules = make([]retrier, n)
	for i := range r.rules {
		r.rules[i] = made.new(e)
	}
	return r, nil
}

// ended decides whether a call is made again, after an attempt that ended with err.
func (r *retries) ended(o offer, err error, now time.Duration) {
	if r.rules == nil {
		return
	}
	r.ending = o
	delay, ok := r.rules[o.client](&r.ending, err)
	if !ok {
		return
	}
	r.ending.attempt++
	at := now + delay
	i := len(r.due)
	for i > 0 && r.due[i-1].at > at {
		i--
	}
	r.due = slices.Insert(r.due, i, dueRetry{at, r.ending})
}

// next removes the next attempt that is due until a time.
func (r *retries) next(until time.Duration) (dueRetry, bool) {
	if len(r.due) == 0 || r.due[0].at > until {
		return dueRetry{}, false
	}
	d := r.due[0]
	r.due = r.due[1:]
	return d, true
}

const (
	callAttempts = 3                      // of each rule
	naiveDelay   = 100 * time.Millisecond // before each retry
	jitterDelay  = 50 * time.Millisecond  // the longest before the first retry of the rules with random delays
)

// RetryRule is how clients make a failed call again. All rules make at most three attempts.
type RetryRule struct {
	Name  string // as in FindRetryRules
	Title string // one line that describes it
	// new makes the retrier of a client. It is nil if calls are not retried.
	new func(Env) retrier
}

// retrier decides for one client after an attempt that ended with err: nil, errRejected or throttle.ErrShed. It returns
// the delay before the next attempt, if there is one.
type retrier func(o *offer, err error) (delay time.Duration, ok bool)

// RetryRules returns every rule.
func RetryRules() []RetryRule {
	return []RetryRule{
		{Name: noRetries, Title: "no retries"},
		{Name: "naive", Title: "every call that failed, 100 ms later, also if the throttle shed it", new: newNaive},
		{Name: "a6", Title: "the retry throttling of gRPC: ten tokens per client, at most half of them for retries", new: newTokens},
		{Name: "aws", Title: "the retry quota of AWS's SDKs since November 2026: 500 tokens per client, 14 for a retry", new: newQuota},
		{Name: "budget", Title: "Spillway, package retry: 10 % of the accepted calls, one priority lower", new: newBudgeted},
	}
}

// noRetries is the name of the first rule, which is that of scenarios and policies without one.
const noRetries = "none"

// FindRetryRules returns the rules of a comma-separated list of names, or "all". It returns each
// once, in the order of the list.
func FindRetryRules(list string) ([]RetryRule, error) {
	return find("retry rule", list, RetryRules(), namesOfRule)
}

// ruleOf returns the rule of a name, or of none.
func ruleOf(name string) (RetryRule, error) {
	rules := RetryRules()
	i := slices.IndexFunc(rules, func(r RetryRule) bool { return r.Name == cmp.Or(name, noRetries) })
	if i < 0 {
		return RetryRule{}, fmt.Errorf("unknown Retry %q: want one of %s", name, strings.Join(validNames(rules, namesOfRule)[1:], ", "))
	}
	return rules[i], nil
}

// namesOfRule returns the name of a rule, which has no family.
func namesOfRule(r RetryRule) (name, family string) { return r.Name, "" }

// Policy returns the policy whose clients retry by the rule.
func (r RetryRule) Policy(p Policy) Policy {
	p.Name, p.Title, p.Retry = p.Name+"+"+r.Name, p.Title+"; "+r.Title, r.Name
	return p
}

func newNaive(Env) retrier {
	return func(o *offer, err error) (time.Duration, bool) {
		return naiveDelay, err != nil && o.attempt < callAttempts-1
	}
}

// jitter returns a random delay before the next attempt.
func jitter(e Env, o *offer) time.Duration {
	return time.Duration(e.Rand() * math.Exp2(float64(o.attempt)) * float64(jitterDelay))
}

// newTokens is the rule of gRPC's proposal A6, with the values of its example. It does not see calls that a throttle
// around it sheds.
func newTokens(e Env) retrier {
	const maxTokens, tokenRatio = 10, 0.1
	left := float64(maxTokens)
	return func(o *offer, err error) (time.Duration, bool) {
		switch {
		case err == nil:
			left = min(maxTokens, left+tokenRatio)
			return 0, false
		case errors.Is(err, throttle.ErrShed):
			return 0, false
		}
		left = max(0, left-1)
		return jitter(e, o), left > maxTokens/2 && o.attempt < callAttempts-1
	}
}

// newQuota is the rule of AWS's SDKs, for errors that are not throttling. It does not see calls that a throttle around
// it sheds.
func newQuota(e Env) retrier {
	const most, retryCost = 500, 14
	left := most
	return func(o *offer, err error) (time.Duration, bool) {
		switch {
		case err == nil && o.attempt > 0:
			left = min(most, left+retryCost) // a retry that succeeds costs nothing
			return 0, false
		case err == nil:
			left = min(most, left+1)
			return 0, false
		case errors.Is(err, throttle.ErrShed) || o.attempt >= callAttempts-1 || left < retryCost:
			return 0, false
		}
		left -= retryCost
		return jitter(e, o), true
	}
}

// newBudgeted is the real Retrier of package retry.
func newBudgeted(e Env) retrier {
	r := throttle.Must(retry.New(retry.Config{Name: "backend", Attempts: callAttempts, Now: e.Now, Rand: e.Rand}))
	var first retry.Run // of the call that ends, until its first retry
	return func(o *offer, err error) (time.Duration, bool) {
		run := o.run
		if run == nil {
			first = r.Begin(context.Background(), o.priority)
			run = &first
		}
		delay, ok := run.Decide(retry.Result{Err: err})
		if ok && o.run == nil {
			kept := first
			o.run = &kept
		}
		o.lower = run.Priority() - o.priority
		return delay, ok
	}
}
