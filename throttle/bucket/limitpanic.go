package bucket

import "fmt"

// limitPanicError is a panic of LimitFor on a goroutine of the limiter's own. It goes on up on that of whoever waits.
type limitPanicError struct{ value any }

func (p *limitPanicError) Error() string {
	return fmt.Sprintf("bucket: panic of Config.LimitFor: %v", p.value)
}

// limitApart is limitOf on a goroutine of the limiter's own, where a panic would end the process.
func (l *Limiter) limitApart(key string) (limit *Limit, err error) {
	defer func() {
		if value := recover(); value != nil {
			err = &limitPanicError{value}
		}
	}()
	return l.limitOf(key), nil
}
