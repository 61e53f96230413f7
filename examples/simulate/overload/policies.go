package overload

// Policies returns every policy: ours first, then other libraries.
func Policies() []Policy {
	return append(ours(), peers()...)
}

// FindPolicies returns the policies of a comma-separated list of names, or "all": in that order, each once.
func FindPolicies(list string) ([]Policy, error) {
	return find("policy", list, Policies(), func(p Policy) (name, family string) { return p.Name, "" })
}
