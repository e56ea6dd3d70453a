// Files that are either whole or not there.
//
// Bytes are written to a temporary name beside the target (NAME.part-NUMBER), flushed to the disk, and renamed over it.
// SIGINT, SIGTERM and SIGHUP that arrive meanwhile wait until the file is whole. Things that are not regular files
// (/dev/stdout, a pipe) are written directly.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace isentropic::io {

// Throws Error unless write_file(path, ...) can be expected to succeed: to be called before the long work starts.
// `argument` names what the user gave ("--json"). Leaves nothing behind.
void check_writable(const std::string& argument, const std::string& path);

// Throws Error when it cannot; the old file, if any, is then still there and no temporary is left.
void write_file(const std::string& argument, const std::string& path, const std::string& text);

// The same for pieces that follow one another, none of which is copied: for files as large as the memory.
void write_file(const std::string& argument, const std::string& path, std::span<const std::string_view> pieces);

}  // namespace isentropic::io
