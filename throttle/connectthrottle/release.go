package connectthrottle

// Version is the version of this module, which is that of Spillway at its release.
const Version = "0.1.0"
