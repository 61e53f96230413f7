package throttle

// Version is the version of Spillway, without the v that its tags begin with. All modules of the repository are released together, with the same
// version.
const Version = "0.1.0"
