package throttle

// Version is the version of Spillway, without the "v" of its tags. All modules of the repository
// have the same version.
const Version = "0.1.0"
