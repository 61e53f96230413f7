package httpthrottle_test

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"testing"

	"github.com/deixis/faults"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/httpthrottle"
)

func TestStatusError(t *testing.T) {
	want := map[int]string{
		400: "bad accepted", 401: "authentication accepted", 403: "permission accepted", 404: "missing accepted", 409: "conflict accepted",
		410: "missing accepted", 412: "precondition accepted", 428: "precondition accepted", 429: "quota rejected", 501: "unimplemented accepted",
		502: "availability rejected", 503: "availability rejected", 504: "timeout rejected",
	}
	for status := range 1000 {
		err := httpthrottle.StatusError(&http.Response{StatusCode: status})
		if status < 400 {
			equal(t, strconv.Itoa(status), err, nil)
			continue
		}
		got := fmt.Sprint(throttle.FaultOf(err), " ", throttle.DefaultClassify(t.Context(), err))
		equal(t, strconv.Itoa(status), got, cmp.Or(want[status], "other accepted"))
		var response *httpthrottle.ResponseError
		if !errors.As(err, &response) || response.StatusCode != status {
			t.Errorf("%d: got no ResponseError of it in %v", status, err)
		}
	}
	equal(t, "no response", httpthrottle.StatusError(nil), nil)
	equal(t, "text", httpthrottle.StatusCodeError(503).Error(), "httpthrottle: 503 Service Unavailable")
	equal(t, "text", httpthrottle.StatusCodeError(599).Error(), "httpthrottle: 599 (unknown status)")
}

func TestStatusError_NoDelay(t *testing.T) {
	h := http.Header{"Retry-After": {"7"}}
	for _, status := range []int{400, 404, 413, 500, 501, 505} {
		if faults.IsUnavailable(httpthrottle.StatusError(&http.Response{StatusCode: status, Header: h})) {
			t.Errorf("%d: got an availability failure, want none", status)
		}
	}
}
