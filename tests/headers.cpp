// No tests: the program whose options are those of all test programs, for which it parses common headers
// (synfire_precompile()).
