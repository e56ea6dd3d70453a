// Files that are either complete or absent.
//
// Bytes are written to a temporary name next to the target (NAME.part-NUMBER), flushed to disk, and renamed over it.
// SIGINT, SIGTERM and SIGHUP are deferred until the file is complete. Anything that is not a regular file (/dev/stdout,
// a pipe) is written directly.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace isentropic::io {

// Throws Error unless write_file(path, ...) can be expected to succeed: call it before the long work starts. `argument`
// names the user's option ("--json"). Leaves nothing behind.
void check_writable(const std::string& argument, const std::string& path);

// Throws Error on failure; an old file then still exists, and no temporary one is left.
void write_file(const std::string& argument, const std::string& path, const std::string& text);

// The same for consecutive pieces, none of which is copied: for files as large as the memory.
void write_file(const std::string& argument, const std::string& path, std::span<const std::string_view> pieces);

}  // namespace isentropic::io
