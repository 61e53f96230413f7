package main

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/failsafe-go/failsafe-go/adaptivelimiter"
	"github.com/failsafe-go/failsafe-go/priority"
	"github.com/go-kratos/aegis/ratelimit"
	"github.com/go-kratos/aegis/ratelimit/bbr"
	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/httpthrottle"
	"github.com/zeromicro/go-zero/core/load"
	"github.com/zeromicro/go-zero/core/logx"
	"github.com/zeromicro/go-zero/core/stat"
)

// The subjects: what is before the handler.
const (
	subjectNone     = "none"
	subjectOurs     = "ours"
	subjectUnfair   = "unfair" // ours without tenants
	subjectGoZero   = "go-zero"
	subjectAegis    = "aegis"
	subjectFailsafe = "failsafe"
)

func allSubjects() []string {
	return []string{subjectNone, subjectOurs, subjectUnfair, subjectGoZero, subjectAegis, subjectFailsafe}
}

// speaks reports whether the benchmark has a subject for a protocol. Peers have HTTP only.
func speaks(subject, protocol string) bool {
	rpc := protocol == protocolGRPC || protocol == protocolConnect
	return !rpc || subject == subjectNone || subject == subjectOurs
}

// guardHTTP puts a subject before a handler, with its defaults. go-zero and aegis act from a share of the
// processors of the whole machine on, of which the server has a part: their thresholds are scaled to it.
func guardHTTP(spec serverSpec, next http.Handler) (http.Handler, error) {
	switch spec.Subject {
	case subjectNone:
		return next, nil
	case subjectOurs, subjectUnfair:
		t, err := throttle.New(throttle.Config{Name: "admission"})
		if err != nil {
			return nil, err
		}
		config := httpthrottle.MiddlewareConfig{Priority: priorityOf, Tell: func(*http.Request) bool { return true }}
		if spec.Subject == subjectOurs {
			config.Tenant = func(r *http.Request) string { return r.Header.Get(tenantHeader) }
		}
		return httpthrottle.Middleware(t, config)(next), nil
	case subjectGoZero:
		return guardGoZero(int64(900*spec.Share), next), nil
	case subjectAegis:
		return guardAegis(int64(800*spec.Share), next), nil
	case subjectFailsafe:
		return guardFailsafe(next), nil
	}
	return nil, fmt.Errorf("no subject %q", spec.Subject)
}

// silence turns off the log of go-zero, which it writes even if it is only linked.
func silence() {
	logx.Disable()
	load.DisableLog()
	stat.SetReporter(nil)
}

// guardGoZero does what go-zero's SheddingHandler does.
func guardGoZero(threshold int64, next http.Handler) http.Handler {
	shedder := load.NewAdaptiveShedder(load.WithCpuThreshold(threshold))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		promise, err := shedder.Allow()
		if err != nil {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		defer promise.Pass()
		next.ServeHTTP(w, r)
	})
}

// guardAegis does what the ratelimit middleware of kratos does.
func guardAegis(threshold int64, next http.Handler) http.Handler {
	limiter := bbr.NewLimiter(bbr.WithCPUThreshold(threshold))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		done, err := limiter.Allow()
		if err != nil {
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		defer done(ratelimit.DoneInfo{})
		next.ServeHTTP(w, r)
	})
}

// guardFailsafe uses failsafe-go's prioritised limiter, which calibrates each 100 ms. It calls the limiter
// itself, because failsafehttp.NewHandler does not give it the context with the priority.
func guardFailsafe(next http.Handler) http.Handler {
	prioritizer := adaptivelimiter.NewPrioritizer()
	prioritizer.ScheduleCalibrations(context.Background(), 100*time.Millisecond)
	limiter := adaptivelimiter.NewBuilder[any]().BuildPrioritized(prioritizer)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx := (priority.VeryHigh - priority.Priority(priorityOf(r))).AddTo(r.Context())
		permit, err := limiter.AcquirePermitWithMaxWait(ctx, patience)
		if err != nil {
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		defer permit.Record()
		next.ServeHTTP(w, r)
	})
}
