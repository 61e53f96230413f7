package httpthrottle_test

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
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
		delayed := httpthrottle.StatusError(&http.Response{StatusCode: status, Header: http.Header{"Retry-After": {"7"}}})
		equal(t, fmt.Sprint(status, ": has a delay"), faults.IsUnavailable(delayed), strings.HasSuffix(got, "rejected"))
		equal(t, fmt.Sprint(status, ": fault with a delay"), throttle.FaultOf(delayed), throttle.FaultOf(err))
		var response *httpthrottle.ResponseError
		if !errors.As(err, &response) || response.StatusCode != status {
			t.Errorf("%d: got no ResponseError of it in %v", status, err)
		}
	}
	equal(t, "no response", httpthrottle.StatusError(nil), nil)
	equal(t, "text", httpthrottle.StatusCodeError(503).Error(), "httpthrottle: 503 Service Unavailable")
	equal(t, "text", httpthrottle.StatusCodeError(599).Error(), "httpthrottle: 599 (unknown status)")
}
